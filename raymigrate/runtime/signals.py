"""Ends a command in an orderly way, whatever asks it to end."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType

from raymigrate.runtime.watcher import RUN_VARIABLE, end_run

# What `kill`, `timeout`, a scheduler and a terminal that closes send; a command under nohup ignores the last.
NAMES = ("SIGTERM", "SIGHUP")
# For a command that is to end: time to write what it wants to keep.
SECONDS_TO_END = 5.0


class Interrupted(KeyboardInterrupt):
    """A signal asked for the end.

    Args:
        number: Which.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Signals that would end the process at once raise an exception instead, as Ctrl-C does, so that it cleans up.

    Raises:
        Interrupted: When one comes.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise Interrupted(number)

    numbers = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]  # Windows has no SIGHUP
    before = {number: signal.getsignal(number) for number in numbers}
    handled = [number for number in numbers if before[number] is not signal.SIG_IGN]
    for number in handled:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, before[number] or signal.SIG_DFL)  # None: one that Python did not set


def run_command(command: Sequence[str], variables: Mapping[str, str], run: str) -> int:
    """Runs a command in this terminal; where this process is asked to end, so is all that the command has started.

    Args:
        command: Program and arguments.
        variables: All of its environment.
        run: Its name, see `watcher.temporary_folder`.

    Returns:
        Its exit status as a shell has it: 128 and the number of the signal that ended it.

    Raises:
        OSError: If it cannot be started.
    """
    process = subprocess.Popen(command, env={**variables, RUN_VARIABLE: run})
    try:
        status = process.wait()
    except KeyboardInterrupt as error:
        number = int(signal.SIGINT)  # which the terminal has sent to the command too
        if isinstance(error, Interrupted):
            process.send_signal(number := error.number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS_TO_END)
        end_run(run)
        process.wait()
        return 128 + number
    return 128 - status if status < 0 else status
