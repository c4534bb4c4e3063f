"""What ends the process from outside: Ctrl-C, `kill`, a scheduler, the end of a terminal or of a CI job."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

# Windows has fewer.
ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Interrupted(KeyboardInterrupt):
    """A signal asked for the end.

    Args:
        number: Which.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    def __str__(self) -> str:
        return signal.Signals(self.number).name


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Signals that would end the process at once raise an exception instead, as Ctrl-C does, so that it cleans up.

    One that is ignored stays so: `nohup` means it.

    Raises:
        Interrupted: When one comes.
    """
    before: dict[int, object] = {}
    with contextlib.suppress(ValueError):  # not in the main thread: that one looks after signals
        for number in ENDING:
            if number != signal.SIGINT and signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)  # type: ignore[arg-type]  # None: one that Python did not set


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Interrupted(number)


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
