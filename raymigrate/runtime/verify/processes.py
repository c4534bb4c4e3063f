"""Starts the process of an arm, watches it, and leaves nothing of it behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click

from raymigrate.runtime.watcher import RUN_VARIABLE, end_run, temporary_folder

POLL_SECONDS = 0.5
LOG_TAIL = 30


class TimedOut(Exception):
    """A process took longer than it was given."""


def run_logged(
    command: Sequence[str],
    *,
    folder: Path,
    environment: dict[str, str],
    log: Path,
    timeout: float,
    watch: Callable[[], None],
) -> int:
    """Runs a command to its end, output going to a log, and ends every process that it started.

    Args:
        command: Program and arguments.
        folder: Working directory.
        environment: All of its variables.
        log: File for stdout and stderr.
        timeout: Seconds that it may take.
        watch: Called about twice a second.

    Returns:
        The exit status.

    Raises:
        TimedOut: After `timeout` seconds.
    """
    with ray_folder() as short, log.open("wb") as output:
        run = Path(short).name
        started = time.monotonic()
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**environment, RUN_VARIABLE: run, "RAY_TMPDIR": short},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C reaches us alone, and we end it
        )
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    return process.wait(POLL_SECONDS)
                watch()
                if time.monotonic() - started > timeout:
                    raise TimedOut
        finally:
            end_processes(process, run)


@contextlib.contextmanager
def ray_folder() -> Iterator[str]:
    """A folder for Ray's session; its sockets need a short path (107 bytes)."""
    with temporary_folder("rm-", Path("/tmp") if Path("/tmp").is_dir() else None) as folder:
        yield str(folder)


def end_processes(process: subprocess.Popen[bytes], run: str) -> None:
    """Ends a process and everything that carries the name of its run, Ray's daemons included."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(3)
    end_run(run)
    process.wait()


def log_lines(log: Path) -> list[str]:
    """The lines of a log, without colours and progress bars' overwritten states; none if there is no log."""
    if not log.exists():
        return []
    text = click.unstyle(log.read_bytes().decode(errors="replace"))
    return [line.rsplit("\r", 1)[-1] for line in text.split("\n")]


def log_tail(log: Path) -> str:
    """The last lines of a log."""
    return "\n".join([line for line in log_lines(log) if line.strip()][-LOG_TAIL:])
