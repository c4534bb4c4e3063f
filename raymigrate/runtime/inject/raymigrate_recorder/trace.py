"""Writes the trace: one file of JSON lines per process, written line by line, so that a killed worker's is complete.

Every event has `kind`, `time` (seconds since the epoch), `pid` and, in a worker, `rank`.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

from raymigrate_recorder.settings import settings

Function = TypeVar("Function", bound=Callable[..., Any])
# Whether this process runs a plain script itself: not torchrun or accelerate, which start it, and no loader of data.
# Read as the process starts, when a script has not yet changed its arguments.
IS_PLAIN_SCRIPT = bool(settings.plain) and os.path.basename(sys.argv[0]) == settings.plain


_in_trial = False


def begin_trial() -> None:
    """This process runs a function of Tune from here on: a single worker, which no variable names."""
    global _in_trial  # noqa: PLW0603 - one for each process
    _in_trial = True


def in_trial() -> bool:
    """Whether this process runs a function of Tune."""
    return _in_trial


def rank() -> int | None:
    """The worker's rank, as Ray, torchrun and accelerate know it; 0 in a single process; None outside a worker."""
    value = os.environ.get("RANK")
    if value is None:
        return 0 if IS_PLAIN_SCRIPT or _in_trial else None
    return int(value)


def emit(kind: str, **values: Any) -> None:
    """Appends an event to this process' file."""
    event = {"kind": kind, "time": round(time.time(), 6), "pid": os.getpid(), "rank": rank(), **values}
    line = json.dumps(event, default=repr) + "\n"
    with open(path(f"events-{os.getpid()}.jsonl"), "a", encoding="utf-8") as stream:
        stream.write(line)


def path(name: str) -> str:
    """A file in the trace's folder."""
    return os.path.join(settings.trace, name)


def guarded(function: Function) -> Function:
    """Makes a fault of the recorder loud: it is written down, which fails the arm, and then raised in the job."""

    @functools.wraps(function)
    def guard(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception:
            import traceback

            with open(path(f"fault-{os.getpid()}.txt"), "a", encoding="utf-8") as stream:
                stream.write(traceback.format_exc())
            raise

    return cast(Function, guard)
