"""What ends the process from outside: Ctrl-C, `kill`, the end of a terminal or of a CI job."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

# Windows has fewer.
ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Ended(BaseException):
    """A signal asks the process to end.

    Args:
        number: Which one.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


@contextlib.contextmanager
def raised() -> Iterator[None]:
    """Raises `Ended` for SIGTERM and SIGHUP, so that whoever holds something lets it go. SIGINT is Python's own.

    A signal that is ignored stays so: `nohup` means it.
    """
    before: dict[int, object] = {}
    with contextlib.suppress(ValueError):  # not in the main thread: whoever made it looks after signals
        for number in ENDING:
            if number != signal.SIGINT and signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, _raise)
    try:
        yield
    finally:
        for number in before:
            signal.signal(number, signal.SIG_DFL)


def _raise(number: int, frame: FrameType | None) -> None:
    raise Ended(number)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Lets them wait for a moment; SIGKILL does not."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
