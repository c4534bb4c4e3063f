"""Records a job on its workers: the train function's begin and end, reports; and the Trainer's evaluations.

A function of Tune is one worker, and records its steps as a train function does.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from raymigrate_recorder import overrides, pins
from raymigrate_recorder.checkpoints import held, outline
from raymigrate_recorder.digests import model_digests, numbers, plain_settings
from raymigrate_recorder.importing import after
from raymigrate_recorder.trace import begin_trial, emit, guarded, in_trial, rank
from raymigrate_recorder.training import StopTraining, peak_memory, save_weights, worker

TRIAL_IS_OVER = "__duplicate__"  # ray.tune.result.RESULT_DUPLICATE, reported behind a function of Tune
LIBRARIES = ("ray", "torch", "transformers", "accelerate", "datasets", "evaluate", "numpy")


def install() -> None:
    """Sets the hooks when Ray and transformers are imported."""
    # Both generations of Ray build the function that a worker runs with `construct_train_func`, on the driver or in
    # the controller (ray/train/_internal/utils.py since 2.0, ray/train/v2/_internal/util.py).
    for name in ("ray.train._internal.utils", "ray.train.v2._internal.util"):
        after(name)(_wrap_train_function)

    after("ray.tune.trainable.function_trainable")(_wrap_trials)

    # Every spelling of report() ends here.
    after("ray.train._internal.session")(functools.partial(_wrap_report, owners=("_TrainSession", "_TrainSessionImpl")))
    after("ray.train.v2._internal.execution.context")(functools.partial(_wrap_report, owners=("TrainContext",)))

    after("transformers.trainer")(_wrap_evaluation)


def _wrap_train_function(module: ModuleType) -> None:
    construct = module.construct_train_func

    @functools.wraps(construct)
    def constructed(train_func: Any, config: Any = None, *args: Any, **kwargs: Any) -> Callable[[], Any]:
        function = construct(train_func, config, *args, **kwargs)
        settings = list(plain_settings(config))

        @functools.wraps(function)
        def recorded() -> Any:
            return run_train_function(function, settings)

        return recorded

    vars(module)["construct_train_func"] = constructed


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


def _wrap_trials(module: ModuleType) -> None:
    wrap = module.wrap_function

    @functools.wraps(wrap)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        trainable = wrap(*args, **kwargs)
        function = trainable._trainable_func

        def recorded(self: Any, config: Any, *others: Any, **named: Any) -> Any:
            call = functools.partial(function, self, config, *others, **named)
            return run_trial(call, list(plain_settings(config)))

        trainable._trainable_func = recorded
        return trainable

    vars(module)["wrap_function"] = wrapped


def run_trial(function: Callable[[], Any], settings: Sequence[tuple[str, Any]]) -> Any:
    """Runs a function of Tune in the process of its trial. One that only starts a trainer makes no step."""
    begin_trial()
    guarded(_begin)(settings, trial=True)
    try:
        return function()
    except StopTraining:
        emit("stopped", step=worker.steps)
        from ray.train._internal.session import get_session

        get_session().report({TRIAL_IS_OVER: True})


def _begin(settings: Sequence[tuple[str, Any]], *, trial: bool = False) -> None:
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
        trial=trial,
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
        if in_trial():
            guarded(end)()  # a scheduler may end the process within this call
        if outermost and TRIAL_IS_OVER not in (metrics or ()):  # Tune says that itself
            worker.reporting = True
            checkpoint = kwargs.get("checkpoint", args[0] if args else None)
            guarded(_note_report)(metrics, checkpoint)
        try:
            return report(session, metrics, *args, **kwargs)
        finally:
            if outermost:
                worker.reporting = False

    return recorded


def _note_report(metrics: Any, checkpoint: Any) -> None:
    known = {} if checkpoint is None else {"files": outline(checkpoint), "held": _held(checkpoint)}
    emit("report", step=worker.steps, metrics=numbers(metrics), checkpoint=checkpoint is not None, **known)


def _held(checkpoint: Any) -> list[int] | None:
    """How many parameters a reported checkpoint holds with their present weights, and how many there are."""
    if rank() != 0 or worker.model is None:
        return None
    weights = model_digests(worker.model)
    found = held(checkpoint, weights)
    return None if found is None else [found, len(weights)]


def _wrap_evaluation(module: ModuleType) -> None:
    """Notes how many rows each evaluation of a Hugging Face Trainer counted, and its metrics."""
    loop = module.Trainer.evaluation_loop

    @functools.wraps(loop)
    def recorded(self: Any, *args: Any, **kwargs: Any) -> Any:
        output = loop(self, *args, **kwargs)
        if rank() is not None:
            guarded(emit)(
                "evaluation", step=worker.steps, rows=int(output.num_samples), metrics=numbers(output.metrics)
            )
        return output

    module.Trainer.evaluation_loop = recorded
