"""Runs work in a process of its own: what brings that down costs one file, and not the run.

A parser overflows its stack, memory ends, somebody kills the process: no `except` sees that. So the work is done in a
child that has nothing to lose: it writes no file, tells which file it is at, and ends when its parent does.
"""

import contextlib
import mmap
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from raymigrate.base.signals import ENDING, undisturbed

if sys.platform != "win32":
    import fcntl

Result = TypeVar("Result")

ROOM = 16_384  # bytes, for the length of a name and the name of a file

_subject: mmap.mmap | None = None  # what the parent reads once this process is gone


class CrashedError(Exception):
    """The process ended before its work was done.

    Args:
        subject: What it was at; empty if it did not say.
        how: How it ended, such as "SIGSEGV".
    """

    def __init__(self, subject: str, how: str) -> None:
        super().__init__(f"{how} at {subject!r}")
        self.subject = subject
        self.how = how


@contextlib.contextmanager
def working_on(subject: str) -> Iterator[None]:
    """Tells the parent what is worked on, and afterwards what was before."""
    if _subject is None:
        yield
        return
    before = _noted(_subject)
    _note(_subject, os.fsencode(subject))
    try:
        yield
    finally:
        _note(_subject, before)


def _note(place: mmap.mmap, data: bytes) -> None:
    data = data[: ROOM - 4]
    place[: 4 + len(data)] = len(data).to_bytes(4, "big") + data


def _noted(place: mmap.mmap) -> bytes:
    return place[4 : 4 + int.from_bytes(place[:4], "big")]


def forget_parent() -> None:
    """For a process that a child starts in turn: what it works on is its own business."""
    global _subject  # noqa: PLW0603
    _subject = None


def apart(work: Callable[[], Result]) -> Result:
    """Does work in a child, where there are such; its result has to be picklable.

    Raises:
        CrashedError: If the child ended before it was done.
        RuntimeError: If the work raised an exception; the text is its traceback.
    """
    if not hasattr(os, "fork"):
        return work()
    sys.stdout.flush()
    sys.stderr.flush()
    with mmap.mmap(-1, ROOM) as subject:
        results, result = os.pipe()
        parent, alive = os.pipe()
        with undisturbed():  # the child gives up its parent's handlers before a signal can reach them
            child = os.fork()
            if not child:
                os.close(results)
                os.close(alive)
                _work(work, subject, parent, result)
        try:
            os.close(result)
            os.close(parent)
            # Not all bytes first, as results of thousands of files are large; there are none if it ended before.
            outcome: tuple[bool, Any] = (False, None)
            with open(results, "rb") as stream, contextlib.suppress(EOFError, pickle.UnpicklingError):  # noqa: PTH123
                outcome = pickle.load(stream)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        except BaseException:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):  # it ended at that very moment
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            raise
        finally:
            os.close(alive)
        if status:
            raise CrashedError(os.fsdecode(_noted(subject)), _how(status))
    done, value = outcome
    if not done:
        raise RuntimeError(value)
    return value  # type: ignore[no-any-return]


def _how(status: int) -> str:
    return f"exit code {status}" if status > 0 else signal.Signals(-status).name


def _work(work: Callable[[], object], subject: mmap.mmap, parent: int, result: int) -> None:
    """The life of the child. It never returns, nor runs the cleanup of its parent."""
    global _subject  # noqa: PLW0603
    try:
        for number in ENDING:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all: the parent ends the child
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        _end_with(parent)
        _subject = subject
        try:
            outcome: tuple[bool, object] = (True, work())
        except Exception:
            outcome = (False, traceback.format_exc())
        with open(result, "wb") as stream:
            pickle.dump(outcome, stream, pickle.HIGHEST_PROTOCOL)
    except BaseException:
        os._exit(1)
    os._exit(0)


def _end_with(parent: int) -> None:
    """Has the system end this process when the other end of a pipe is closed, as it is when the parent is gone."""
    try:
        fcntl.fcntl(parent, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(parent, fcntl.F_SETFL, fcntl.fcntl(parent, fcntl.F_GETFL) | os.O_ASYNC | os.O_NONBLOCK)
    except (NameError, AttributeError, OSError):  # not on every system
        return  # then it ends when it has done its work: it writes no file
    with contextlib.suppress(BlockingIOError):
        if not os.read(parent, 1):  # it was gone before
            os._exit(1)
