"""Ends what a command has started once the command itself is gone, however it ended: SIGKILL leaves it no chance to.

Run as a program, this file is a process of its own that waits on a pipe, the other end of which only the command holds.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

# Every process of a run inherits this variable, Ray's daemons and workers included: that is how they are found again.
RUN_VARIABLE = "RAYMIGRATE_RUN"
# Stands in each folder of ours, so that no copy of a script's folder takes one along that lies in it.
MARKER = ".raymigrate-folder"
DONE = b"done"
ROUNDS = 5
AT_END = "at-end.json"
SECONDS_FOR_COMMAND = 60.0


@contextlib.contextmanager
def temporary_folder(prefix: str, place: Path | None = None) -> Iterator[Path]:
    """A folder that only its owner can read, and that goes with the block, or with this process.

    Processes that have its name as RUN_VARIABLE are ended if the block, or this process, does not come to its end.

    Args:
        prefix: How its name begins.
        place: Where to make it; None for the folder of temporary files.
    """
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
    with _watched(folder):
        (folder / MARKER).touch()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def at_end(folder: Path, command: Sequence[str]) -> None:
    """Has a command run too if this process does not come to its end, such as one that stops a job elsewhere.

    Args:
        folder: A folder of `temporary_folder`; the command is forgotten with it.
        command: Program and arguments.
    """
    (folder / AT_END).write_text(json.dumps(list(command)), encoding="utf-8")


@contextlib.contextmanager
def _watched(folder: Path) -> Iterator[None]:
    variables = {name: value for name, value in os.environ.items() if name != RUN_VARIABLE}  # it belongs to no run
    with subprocess.Popen(
        [sys.executable, __file__, str(folder)],
        cwd=Path(sys.executable).anchor,
        env=variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # so that what ends the command's group or terminal does not end it too
    ) as watcher:
        yield
        with contextlib.suppress(BrokenPipeError):  # somebody has ended it
            watcher.communicate(DONE)


def end_run(run: str) -> None:
    """Ends every process that carries the name of a run, and every process that one of these has started.

    Args:
        run: Value of RUN_VARIABLE.
    """
    import psutil  # noqa: PLC0415 - a watcher needs it only if it has something to do

    for _ in range(ROUNDS):  # a daemon may start another process while it is being ended
        left = _processes_of(run)
        if not left:
            return
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(left, timeout=5)


def _processes_of(run: str) -> set[psutil.Process]:
    """Ray's agents give themselves a title that overwrites their variables, but who has started them still shows."""
    import psutil  # noqa: PLC0415

    parents = {process: process.info["ppid"] for process in psutil.process_iter(["ppid"])}
    found = {process for process in parents if _variables(process).get(RUN_VARIABLE) == run}
    while True:
        pids = {process.pid for process in found}
        children = {process for process, parent in parents.items() if parent in pids} - found
        if not children:
            return {process for process in found if not _is_watcher(process)}
        found |= children


def _variables(process: psutil.Process) -> dict[str, str]:
    import psutil  # noqa: PLC0415

    try:
        return process.environ()
    except (psutil.Error, OSError):  # another user's, or already gone
        return {}


def _is_watcher(process: psutil.Process) -> bool:
    """Whether a process watches a command that the run has started: it ends by itself, after it has done its work."""
    import psutil  # noqa: PLC0415

    try:
        return __file__ in process.cmdline()[1:2]
    except psutil.Error:
        return False


def main(folder: Path) -> None:
    """Waits for the command to end; does what it has not done."""
    if sys.stdin.buffer.read() != DONE:
        end_run(folder.name)
        with contextlib.suppress(OSError, ValueError, subprocess.TimeoutExpired):
            command = json.loads((folder / AT_END).read_text(encoding="utf-8"))
            subprocess.run(command, timeout=SECONDS_FOR_COMMAND, check=False)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
