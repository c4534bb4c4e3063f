"""`raymigrate hub run`: a command with the hub, which ends with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

# A daemon in a session of its own, as Ray's are, and a main process that tells of its end.
JOB = f"""
trap 'echo ended > told; exit 7' TERM HUP
setsid {sys.executable} -c 'import time; time.sleep(600)' &
echo $HF_ENDPOINT > endpoint
wait
"""

SLEEPING = ["import time; time.sleep(600)"]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A cache for the hub's assets, and a folder for temporary files."""
    folder = tmp_path_factory.mktemp("hub run")
    (folder / "temporary").mkdir()
    return {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "TMPDIR": str(folder / "temporary")}


def hub_run(shell: str, folder: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "raymigrate", "hub", "run", "--", "/bin/sh", "-c", shell]
    return subprocess.Popen(command, cwd=folder, env=environment)


def waiting(folder: Path, environment: dict[str, str]) -> tuple[subprocess.Popen[bytes], list[psutil.Process]]:
    """A command that waits, and everything that belongs to it."""
    process = hub_run(JOB, folder, environment)
    deadline = time.monotonic() + 60
    while True:
        family = psutil.Process(process.pid).children(recursive=True)
        if (folder / "endpoint").exists() and SLEEPING in [each.cmdline()[-1:] for each in family]:
            return process, family
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize(("shell", "status"), [("exit 3", 3), ("kill -TERM $$", 143), ('test -d "$HF_HOME"', 0)])
def test_it_ends_as_the_command_ends(shell: str, status: int, tmp_path: Path, environment: dict[str, str]) -> None:
    assert hub_run(shell, tmp_path, environment).wait(60) == status
    assert list(Path(environment["TMPDIR"]).iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_reaches_the_command_and_then_all_is_ended(
    number: signal.Signals, tmp_path: Path, environment: dict[str, str]
) -> None:
    process, family = waiting(tmp_path, environment)
    process.send_signal(number)
    assert process.wait(30) == 128 + number
    assert (tmp_path / "told").read_text() == "ended\n"
    assert psutil.wait_procs(family, timeout=10)[1] == []
    assert list(Path(environment["TMPDIR"]).iterdir()) == []


def test_a_command_that_does_not_end_is_ended(tmp_path: Path, environment: dict[str, str]) -> None:
    process = hub_run("trap '' TERM; touch endpoint; while :; do sleep 1; done", tmp_path, environment)
    while not (tmp_path / "endpoint").exists():
        time.sleep(0.1)
    process.terminate()
    assert process.wait(30) == 128 + signal.SIGTERM


def test_nothing_lives_on_for_more_than_ten_seconds_when_it_is_killed(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    process, family = waiting(tmp_path, environment)
    process.kill()
    process.wait()
    assert psutil.wait_procs(family, timeout=10)[1] == []
    assert list(Path(environment["TMPDIR"]).iterdir()) == []


def test_a_command_that_is_not_there_is_one_sentence(tmp_path: Path, environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "raymigrate", "hub", "run", "no-such-command"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "Error: no-such-command cannot be run: No such file or directory.\n")
