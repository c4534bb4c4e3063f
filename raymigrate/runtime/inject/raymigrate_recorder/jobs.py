"""Records Ray's side of a job: the train function's begin and end, reports, results; and the Trainer's evaluations."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

from raymigrate_recorder import overrides, pins
from raymigrate_recorder.checkpoints import contents
from raymigrate_recorder.digests import model_digests
from raymigrate_recorder.importing import after
from raymigrate_recorder.trace import emit, guarded, rank
from raymigrate_recorder.training import StopTraining, peak_memory, save_weights, worker

LIBRARIES = ("ray", "torch", "transformers", "accelerate", "datasets", "evaluate", "numpy")


def install() -> None:
    """Sets the hooks when Ray and transformers are imported."""
    # Both generations of Ray build the function that a worker runs with `construct_train_func`, on the driver or in
    # the controller (ray/train/_internal/utils.py since 2.0, ray/train/v2/_internal/util.py).
    for name in ("ray.train._internal.utils", "ray.train.v2._internal.util"):
        after(name)(_wrap_train_function)

    # Every spelling of report() ends here.
    after("ray.train._internal.session")(functools.partial(_wrap_report, owners=("_TrainSession", "_TrainSessionImpl")))
    after("ray.train.v2._internal.execution.context")(functools.partial(_wrap_report, owners=("TrainContext",)))

    after("ray.train.base_trainer")(functools.partial(_wrap_fit, owner="BaseTrainer"))
    after("ray.train.v2.api.data_parallel_trainer")(functools.partial(_wrap_fit, owner="DataParallelTrainer"))
    after("transformers.trainer")(_wrap_evaluation)


def _wrap_train_function(module: ModuleType) -> None:
    construct = module.construct_train_func

    @functools.wraps(construct)
    def constructed(train_func: Any, config: Any = None, *args: Any, **kwargs: Any) -> Callable[[], Any]:
        function = construct(train_func, config, *args, **kwargs)
        settings = list(_settings(config))

        @functools.wraps(function)
        def recorded() -> Any:
            return run_train_function(function, settings)

        return recorded

    vars(module)["construct_train_func"] = constructed


def _settings(config: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The plain values of a train function's configuration; they tell the trials of a Tuner apart."""
    for key, value in sorted(config.items(), key=str) if isinstance(config, dict) else ():
        if isinstance(value, (str, int, float)):
            yield f"{name}{key}", value
        yield from _settings(value, f"{name}{key}.")


def run_train_function(function: Callable[[], Any], settings: Sequence[tuple[str, Any]] = ()) -> Any:
    """Runs on a worker, with the process group up: pins, the function itself, and the weights it ends with."""
    guarded(_begin)(settings)
    result = None
    try:
        result = function()
    except StopTraining:
        emit("stopped", step=worker.steps)
    guarded(end)()
    return result


def _begin(settings: Sequence[tuple[str, Any]]) -> None:
    from torch import distributed

    worker.reset()
    overrides.apply_in_worker()
    pins.apply_in_worker()
    initialized = distributed.is_available() and distributed.is_initialized()
    emit(
        "start",
        world_size=distributed.get_world_size() if initialized else 1,
        backend=distributed.get_backend() if initialized else None,
        versions=versions(),
        settings=settings,
    )


def end() -> None:
    """Writes down what the training ends with."""
    memory = peak_memory()  # before the recorder's own copies of the weights
    save_weights("final")
    weights = {} if worker.model is None else model_digests(worker.model)
    emit("end", steps=worker.steps, weights=weights, memory=memory)


def versions() -> dict[str, str]:
    """The versions that this process runs."""
    import platform
    from importlib import metadata

    found = {"python": platform.python_version()}
    for library in LIBRARIES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[library] = metadata.version(library)
    return found


def _wrap_report(module: ModuleType, owners: Any) -> None:
    for owner in owners:
        target = getattr(module, owner, None)
        if target is not None and "report" in vars(target):
            target.report = _recorded_report(target.report)


def _recorded_report(report: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(report)
    def recorded(session: Any, metrics: Any = None, *args: Any, **kwargs: Any) -> Any:
        # One report may pass through two of these on its way (ray.air's session calls ray.train's).
        outermost = rank() is not None and not worker.reporting
        if outermost:
            worker.reporting = True
            checkpoint = kwargs.get("checkpoint", args[0] if args else None)
            guarded(emit)("report", step=worker.steps, metrics=_numbers(metrics), checkpoint=checkpoint is not None)
        try:
            return report(session, metrics, *args, **kwargs)
        finally:
            if outermost:
                worker.reporting = False

    return recorded


def _numbers(metrics: Any) -> dict[str, Any]:
    """Metrics as JSON knows them: numpy's and torch's scalars become numbers."""
    plain = {}
    for key, value in dict(metrics or {}).items():
        value = value.item() if hasattr(value, "item") and getattr(value, "size", 1) == 1 else value
        if isinstance(value, (bool, int, float, str)):
            plain[str(key)] = value
    return plain


def _wrap_fit(module: ModuleType, owner: str) -> None:
    trainer = getattr(module, owner)
    fit = trainer.fit

    @functools.wraps(fit)
    def recorded(self: Any) -> Any:
        result = fit(self)
        if not _in_trial():
            guarded(_record_result)(result)
        return result

    trainer.fit = recorded


def _in_trial() -> bool:
    """Whether this is a trial of a Tuner, whose result is the Tuner's and not that of the script's own fit()."""
    module = sys.modules.get("ray.train._internal.session")
    return module is not None and module.get_session() is not None


def _record_result(result: Any) -> None:
    checkpoint = getattr(result, "checkpoint", None)
    emit(
        "result",
        metrics=_numbers(result.metrics),
        error=repr(result.error) if getattr(result, "error", None) else None,
        checkpoint=contents(checkpoint) if checkpoint is not None else None,
    )


def _wrap_evaluation(module: ModuleType) -> None:
    """Notes how many rows each evaluation of a Hugging Face Trainer counted, and its metrics."""
    loop = module.Trainer.evaluation_loop

    @functools.wraps(loop)
    def recorded(self: Any, *args: Any, **kwargs: Any) -> Any:
        output = loop(self, *args, **kwargs)
        if rank() is not None:
            guarded(emit)(
                "evaluation", step=worker.steps, rows=int(output.num_samples), metrics=_numbers(output.metrics)
            )
        return output

    module.Trainer.evaluation_loop = recorded
