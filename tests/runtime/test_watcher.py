"""What is left of a command that was killed, and how a command is run in its terminal."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from raymigrate.base.signals import Interrupted, interruptible
from raymigrate.runtime.run_command import run_command
from raymigrate.runtime.watcher import RUN_VARIABLE, temporary_folder

SLEEP = f"{sys.executable} -c 'import time; time.sleep(600)'"
COMMAND = """
import os, subprocess, sys
from pathlib import Path
from raymigrate.runtime.watcher import RUN_VARIABLE, temporary_folder
with temporary_folder("raymigrate-test-", Path(sys.argv[1])) as folder:
    (folder / "file").touch()
    subprocess.Popen(["/bin/sh", "-c", sys.argv[2]], env={**os.environ, RUN_VARIABLE: folder.name})
    print(folder, flush=True)
    sys.stdin.read()
"""


def command(place: Path, shell: str) -> tuple[subprocess.Popen[str], list[psutil.Process]]:
    """A command that has started `shell` in a run of its own; and all processes below it."""
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, str(place), shell], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    deadline = time.monotonic() + 30
    while len(sleeping(process)) < shell.count("sleep(600)"):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return process, family(process)


def sleeping(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return [child for child in family(process) if child.cmdline()[-1:] == ["import time; time.sleep(600)"]]


def family(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


@pytest.mark.parametrize(
    "shell",
    [
        pytest.param(f"exec {SLEEP}", id="a child"),
        pytest.param(f"setsid {SLEEP} & {SLEEP}", id="a daemon in a session of its own"),
        pytest.param(f"env -i {SLEEP} & {SLEEP}", id="a process that hides its variables"),
        pytest.param(f"trap '' TERM HUP INT; {SLEEP}", id="one that ignores signals"),
    ],
)
def test_what_a_killed_command_has_started_is_ended(shell: str, tmp_path: Path) -> None:
    process, started = command(tmp_path, shell)
    process.kill()
    process.wait()
    assert psutil.wait_procs(started, timeout=10)[1] == []
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_ends_leaves_alone_what_it_did_not_end(tmp_path: Path) -> None:
    """It has ended what it wanted to end; a daemon that somebody started on purpose stays."""
    process, started = command(tmp_path, f"exec {SLEEP}")
    (sleeper,) = sleeping(process)
    assert process.stdin is not None
    process.stdin.close()
    process.wait()
    try:
        assert psutil.wait_procs([child for child in started if child != sleeper], timeout=10)[1] == []
        assert sleeper.is_running()
        assert list(tmp_path.iterdir()) == []
    finally:
        sleeper.kill()


def test_a_killed_command_inside_another_ends_its_own_run(tmp_path: Path) -> None:
    """As with `raymigrate hub run -- raymigrate verify train.py`: the inner watcher is not part of the outer run."""
    (tmp_path / "inner").mkdir()
    inner = [sys.executable, "-c", COMMAND, str(tmp_path / "inner"), f"setsid {SLEEP} & {SLEEP}"]
    process, started = command(tmp_path, shlex.join(inner))
    process.kill()
    process.wait()
    assert psutil.wait_procs(started, timeout=10)[1] == []
    assert list(tmp_path.iterdir()) == [tmp_path / "inner"]
    assert list((tmp_path / "inner").iterdir()) == []


ELSEWHERE = """
import sys
from pathlib import Path
from raymigrate.runtime.watcher import at_end, temporary_folder
with temporary_folder("raymigrate-test-", Path(sys.argv[1])) as folder:
    at_end(folder, [sys.executable, "-c", f"open({sys.argv[2]!r}, 'w').close()"])
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("killed", [True, False])
def test_what_a_killed_command_has_started_elsewhere_is_stopped_by_a_command(killed: bool, tmp_path: Path) -> None:
    """As a job of a running cluster: its processes are not on this machine."""
    (tmp_path / "temporary").mkdir()
    stopped = tmp_path / "stopped"
    arguments = [sys.executable, "-c", ELSEWHERE, str(tmp_path / "temporary"), str(stopped)]
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdin is not None
    process.stdout.readline()
    started = family(process)
    if killed:
        process.kill()
    process.stdin.close()
    process.wait()
    assert psutil.wait_procs(started, timeout=10)[1] == []
    assert stopped.exists() is killed
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_temporary_folder_is_private(tmp_path: Path) -> None:
    with temporary_folder("raymigrate-test-", tmp_path) as folder:
        assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_would_end_the_process_raises_instead(number: int) -> None:
    before = signal.getsignal(number)
    with pytest.raises(Interrupted) as caught, interruptible():
        os.kill(os.getpid(), number)
        time.sleep(5)
    assert caught.value.number == number
    assert signal.getsignal(number) is before


def test_a_signal_that_is_ignored_stays_so() -> None:
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible():
            os.kill(os.getpid(), signal.SIGHUP)
            time.sleep(0.2)
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(("shell", "status"), [("exit 3", 3), ("kill -9 $$", 137), (f"test ${RUN_VARIABLE} = name", 0)])
def test_a_command_gives_the_exit_status_that_a_shell_would_give(shell: str, status: int) -> None:
    assert run_command(["/bin/sh", "-c", shell], os.environ, "name") == status
