"""Records what the driver gets: what fit() returns, and whether the script reads its metrics; what a Tuner found."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from raymigrate_recorder import pins
from raymigrate_recorder.checkpoints import contents
from raymigrate_recorder.digests import numbers, plain_settings
from raymigrate_recorder.importing import after
from raymigrate_recorder.trace import emit, guarded

# Of a result: Train V2 keeps those of reports with a checkpoint only.
METRICS = ("metrics", "metrics_dataframe")


def install() -> None:
    """Sets the hooks on Ray's trainers and on the Tuner."""
    after("ray.train.base_trainer")(functools.partial(_wrap_fit, owner="BaseTrainer"))
    after("ray.train.v2.api.data_parallel_trainer")(functools.partial(_wrap_fit, owner="DataParallelTrainer"))
    after("ray.tune.tuner")(_wrap_tuner)


_trainers_fitting: list[None] = []  # one for each; the trainers of Ray 2.0 to 2.9 ran in a Tuner of their own


@contextlib.contextmanager
def _fitting() -> Iterator[None]:
    _trainers_fitting.append(None)
    try:
        yield
    finally:
        _trainers_fitting.pop()


def _wrap_fit(module: ModuleType, owner: str) -> None:
    trainer = getattr(module, owner)
    fit = trainer.fit

    @functools.wraps(fit)
    def recorded(self: Any) -> Any:
        with _fitting():
            result = fit(self)
        if not _in_trial():
            guarded(_record_result)(result)
            guarded(_watch)(result)
        return result

    trainer.fit = recorded


def _wrap_tuner(module: ModuleType) -> None:
    fit = module.Tuner.fit

    @functools.wraps(fit)
    def recorded(self: Any) -> Any:
        if _trainers_fitting:
            return fit(self)
        pins.apply_to_search()
        grid = fit(self)
        guarded(_record_trials)(grid, self)
        return grid

    module.Tuner.fit = recorded


def _record_trials(grid: Any, tuner: Any) -> None:
    """What each trial ended with, in the order in which they were made; and the scheduler that may have ended it."""
    config = getattr(getattr(tuner, "_local_tuner", None), "_tune_config", None)
    scheduler = getattr(config, "scheduler", None)
    emit("trials", scheduler=type(scheduler).__name__ if scheduler else None, trials=[*map(_ending, grid)])


def _ending(result: Any) -> dict[str, Any]:
    metrics = dict(result.metrics or {})
    # Trials of a trainer that reports to Tune by ray.tune.integration.ray_train say so where their checkpoint is.
    stored, checkpoint = metrics.pop("checkpoint_path", None), getattr(result, "checkpoint", None)
    if checkpoint is None and stored:
        from ray.train import Checkpoint

        checkpoint = Checkpoint(stored)
    return {
        "settings": dict(plain_settings(getattr(result, "config", None))),
        "metrics": numbers(metrics),
        "error": repr(result.error) if getattr(result, "error", None) else None,
        "checkpoint": contents(checkpoint) if checkpoint is not None else None,
    }


def _in_trial() -> bool:
    """Whether this is a trial of a Tuner, whose result is the Tuner's and not that of the script's own fit()."""
    module = sys.modules.get("ray.train._internal.session")
    return module is not None and module.get_session() is not None


def _record_result(result: Any) -> None:
    checkpoint = getattr(result, "checkpoint", None)
    emit(
        "result",
        metrics=numbers(result.metrics),
        error=repr(result.error) if getattr(result, "error", None) else None,
        checkpoint=contents(checkpoint) if checkpoint is not None else None,
    )


def _watch(result: Any) -> None:
    """Notes when the script reads a result's metrics. Its class is swapped, since attributes are found by that."""
    kind = type(result)

    def noted(name: str) -> property:
        def read(self: Any) -> Any:
            guarded(emit)("metrics read")
            return vars(self)[name]

        def written(self: Any, value: Any) -> None:
            vars(self)[name] = value

        return property(read, written)

    found = {name: noted(name) for name in METRICS if name in vars(result)}
    # What is pickled is a result of Ray.
    found["__reduce_ex__"] = lambda self, protocol: (_result, (kind, dict(vars(self))))  # type: ignore[assignment]
    same = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    result.__class__ = type(kind.__name__, (kind,), {**same, **found})


def _result(kind: type[Any], values: dict[str, Any]) -> Any:
    result: Any = object.__new__(kind)
    vars(result).update(values)
    return result
