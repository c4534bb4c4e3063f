"""`ray.tune.Tuner` with a trainer, and the results of all Tuners as they were.

The old trainers were trainables of Tune: each trial made the trainer anew, with what the search space says on top of
its own arguments (ray 2.6.3, train/base_trainer.py, `_generate_trainable_cls`). Train V2's trainers are none, so here a
trial is a function that makes the trainer, and reports to Tune what its workers report.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import ray
from ray._private.dict import merge_dicts

from raymigrate_standin import air_config
from raymigrate_standin.air_checkpoint import Checkpoint
from raymigrate_standin.importing import unknown

CHECKPOINT_PATH = "checkpoint_path"  # ray.tune.integration.ray_train.CHECKPOINT_PATH_KEY


def accept_trainers(tuner: Any) -> None:
    """Changes the class Tuner in place."""
    init, fit, restore = tuner.__init__, tuner.fit, tuner.restore.__func__

    @functools.wraps(init)
    def accepting(self: Any, trainable: Any = None, **kwargs: Any) -> None:
        self.raymigrate_checkpoint_class = Checkpoint
        if hasattr(trainable, "train_loop_per_worker"):
            self.raymigrate_checkpoint_class = trainable.checkpoint_class
            trainable, kwargs = _with_trials(trainable, kwargs)
        init(self, trainable, **kwargs)

    @functools.wraps(fit)
    def fitting(self: Any) -> Any:
        grid = fit(self)
        old = functools.partial(_old_result, checkpoint_class=self.raymigrate_checkpoint_class)
        of_trial = grid._trial_to_result
        grid._trial_to_result = lambda trial: old(of_trial(trial))
        grid._results = [old(result) for result in grid._results]
        return grid

    def restoring(cls: Any, /, path: Any, trainable: Any = None, **kwargs: Any) -> Any:
        if hasattr(trainable, "train_loop_per_worker"):
            raise NotImplementedError(unknown("Tuner.restore() with a trainer"))
        return restore(cls, path, trainable, **kwargs)

    tuner.__init__, tuner.fit, tuner.restore = accepting, fitting, classmethod(restoring)


def _with_trials(trainer: Any, arguments: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A trainable of today, and the Tuner's arguments for it."""
    from ray import tune

    run = arguments.get("run_config") or trainer.arguments.get("run_config") or ray.train.RunConfig()
    space = dict(arguments.get("param_space") or {})
    if "scaling_config" in space:
        space["scaling_config"] = air_config.scaling_arguments(space["scaling_config"])
    search = arguments.get("tune_config") or tune.TuneConfig()
    # How much room a trial needs is not known where that is searched.
    fitting = 1 if "scaling_config" in space else _trials_at_once(trainer.scaling_config)
    at_once = min(search.max_concurrent_trials or 1_000, fitting)
    changed = {
        "param_space": space,
        "run_config": tune.RunConfig(name=run.name, storage_path=run.storage_path),
        "tune_config": replace(search, max_concurrent_trials=at_once),
    }
    return _trial(type(trainer), trainer.arguments, run), {**arguments, **changed}


def _trials_at_once(scaling: Any) -> int:
    """For how many trials there is room: each holds a CPU of its own while it waits for those of its workers."""
    if not ray.is_initialized():
        ray.init()
    available, needed = ray.cluster_resources(), dict(scaling.total_resources)
    needed["CPU"] = needed.get("CPU", 0) + 1
    return max(1, min(int(available.get(name, 0) // amount) for name, amount in needed.items() if amount))


def _trial(kind: type[Any], arguments: dict[str, Any], run: Any) -> Callable[[dict[str, Any]], None]:
    """The function of a trial; a function within a function, so that it is pickled with what it needs."""

    def trial(config: dict[str, Any]) -> None:
        from ray import tune
        from ray.tune.integration.ray_train import TuneReportCallback

        given = {name: value for name, value in arguments.items() if name != "run_config"}
        merged = merge_dicts(given, config)
        own = copy.copy(run)
        own.name = f"{run.name or kind.__name__}-{tune.get_context().get_trial_id()}"
        # The loggers among the callbacks are the Tuner's.
        own.callbacks = [TuneReportCallback()]
        kind(**merged, run_config=own).fit()

    trial.__name__ = kind.__name__
    return trial


def _old_result(result: Any, checkpoint_class: type[Checkpoint]) -> Any:
    """A trial's result as it was: with a checkpoint of the old kind, and `log_dir`."""
    metrics = dict(result.metrics or {})
    stored = metrics.pop(CHECKPOINT_PATH, None)
    checkpoint = ray.train.Checkpoint(stored) if stored else result.checkpoint
    result.metrics = metrics
    result.checkpoint = None if checkpoint is None else checkpoint_class.from_checkpoint(checkpoint)
    result.log_dir = Path(result.path)
    return result
