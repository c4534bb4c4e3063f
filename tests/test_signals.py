"""Signals: no process outlives the command, no file is damaged, and one sentence says what happened."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.conftest import ROOT
from tests.test_faults import CONVERTED, SMALL

# Each file takes a while, so that every moment of a run can be met; `fork` hands that down to all processes.
SLOW = """
import os, sys, time
from raymigrate.run import conversion, session
convert = conversion.convert

def slowly(*arguments, **options):
    place = os.environ.get("STAY_ONCE")
    if place and not os.path.exists(place):
        open(place, "w").close()
        time.sleep(60)
    time.sleep(0.1)
    return convert(*arguments, **options)

conversion.convert = slowly
session.BYTES_WORTH_A_POOL = 0
from raymigrate.cli import main
main()
"""
FILES = 40


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(FILES):
        (tmp_path / f"{number}.py").write_text(SMALL)
    return tmp_path


def start(folder: Path, *options: str, stay: Path | None = None) -> subprocess.Popen[str]:
    """Starts the command; it stays at the first file until that is killed, once it has made the file `stay`."""
    command = [sys.executable, "-c", SLOW, *options, "."]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **({"STAY_ONCE": str(stay)} if stay else {})}
    return subprocess.Popen(
        command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def family(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """The processes of a command that still run; one that nobody waits for stays in the table when it has ended."""
    found = []
    for other in psutil.process_iter():
        try:
            if os.getpgid(other.pid) == process.pid and other.status() != psutil.STATUS_ZOMBIE:
                found.append(other)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return found


def wait_until_busy(process: subprocess.Popen[str], processes: int) -> None:
    deadline = time.monotonic() + 60
    while len(family(process)) < processes and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(family(process)) >= processes


def assert_all_end(process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 10
    while (left := family(process)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []


def assert_old_or_new(folder: Path) -> list[str]:
    # A process that is killed leaves the hidden file that it was about to give the name of the old one.
    texts = [path.read_text() for path in sorted(folder.iterdir()) if not path.name.startswith(".raymigrate-")]
    assert len(texts) == FILES
    assert set(texts) <= {SMALL, CONVERTED}
    return texts


@pytest.mark.parametrize(("jobs", "processes"), [("1", 2), ("2", 4)])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_all_processes_end_with_the_command(folder: Path, number: signal.Signals, jobs: str, processes: int) -> None:
    process = start(folder, "--jobs", jobs)
    wait_until_busy(process, processes)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert_all_end(process)
    texts = assert_old_or_new(folder)
    if number == signal.SIGKILL:
        assert process.returncode == -number
    else:
        assert errors == f"Error: Ended by {number.name}; every file is either converted or as it was.\n"
        assert list(folder.glob(".*")) == []
        assert process.returncode == 128 + number
    time.sleep(0.5)
    assert assert_old_or_new(folder) == texts  # nobody writes afterwards


def test_a_process_that_is_killed_alone_does_not_end_the_command(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """As the system does when memory ends: the file that it was at is reported, the others are done."""
    stay = tmp_path_factory.mktemp("stay") / "here"
    process = start(folder, "--jobs", "1", stay=stay)
    wait_until_busy(process, 2)
    deadline = time.monotonic() + 60
    while not stay.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    [child] = [other for other in family(process) if other.pid != process.pid]
    child.kill()
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "ended before it was done (SIGKILL)" in errors
    assert sorted(assert_old_or_new(folder)) == sorted([SMALL] + [CONVERTED] * (FILES - 1))


def test_nohup_is_heeded(folder: Path) -> None:
    for path in list(folder.iterdir())[3:]:
        path.write_text(CONVERTED)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = ["nohup", sys.executable, "-c", SLOW, "--jobs", "1", "."]
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )
    wait_until_busy(process, 2)  # type: ignore[arg-type]
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert set(assert_old_or_new(folder)) == {CONVERTED}


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, signal.SIGINT])
def test_at_any_moment(folder: Path, number: signal.Signals) -> None:
    for moment in range(20):
        for path in folder.iterdir():
            path.write_text(SMALL)
        process = start(folder, "--jobs", "2")
        time.sleep(0.2 + moment * 0.2)
        process.send_signal(number)
        process.communicate(timeout=60)
        assert_all_end(process)
        assert_old_or_new(folder)
        if number == signal.SIGKILL:
            for left in folder.glob(".*"):
                left.unlink()
        assert list(folder.glob(".*")) == []
