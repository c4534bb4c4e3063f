"""A script that trains in processes of its own, with no Ray around them: where it begins and ends is recorded here.

It counts as a train function that runs from the import of torch to the end of the process. Where torchrun or accelerate
starts several processes, it sets RANK and WORLD_SIZE as Ray does in a worker; a single one may have neither.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable, Iterable
from types import ModuleType, TracebackType
from typing import Any

from raymigrate_recorder import overrides, pins
from raymigrate_recorder.importing import after
from raymigrate_recorder.jobs import end, versions
from raymigrate_recorder.trace import IS_PLAIN_SCRIPT, emit, guarded
from raymigrate_recorder.training import StopTraining, worker

STARTED = "RAYMIGRATE_PLAIN_STARTED"  # inherited by what a process that trains starts, such as loaders of data


def install() -> None:
    """Sets the hooks in the processes that train, neither in torchrun's own nor in those that they start themselves."""
    if not IS_PLAIN_SCRIPT or STARTED in os.environ:
        return
    os.environ[STARTED] = "1"

    @after("torch")
    def _torch(module: ModuleType) -> None:
        if os.getpid() == started_by:
            _begin()

    @after("accelerate.launchers")
    def _launchers(module: ModuleType) -> None:
        vars(module).update(notebook_launcher=_call, debug_launcher=_call)

    started_by = os.getpid()  # a fork has these hooks too
    report = sys.excepthook

    def ended(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        atexit.unregister(_end)
        if kind is not StopTraining:
            report(kind, error, traceback)
            return
        emit("stopped", step=worker.steps)
        _end()
        sys.stdout.flush()
        os._exit(0)

    sys.excepthook = ended


def _call(function: Callable[..., Any], args: Iterable[Any] = (), *_: Any, **__: Any) -> None:
    """In the place of accelerate's launchers, which would start further processes: whoever started the script did."""
    function(*args)


def _begin() -> None:
    overrides.apply_in_worker()
    pins.apply_in_worker()
    emit("start", world_size=int(os.environ.get("WORLD_SIZE", "1")), backend=None, versions=versions(), settings=[])
    atexit.register(_end)


@guarded
def _end() -> None:
    if worker.model is not None:
        end()
