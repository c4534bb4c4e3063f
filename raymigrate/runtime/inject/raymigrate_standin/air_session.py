"""`ray.air.session`: what a worker asked Ray, and how it reported (ray 2.6.3, air/session.py).

Current Ray still has the module, whose functions do nothing in a worker of Train V2 (docs/semantics/traps.md#t1).
Outside of a worker they return nothing, as they did.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import tempfile
import warnings
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from raymigrate_standin.importing import unknown
from raymigrate_standin.job import Job, current_job

REPORTS, ENDED = "reports", "ends"


class TrialStopped(BaseException):
    """Ends the train function where Tune ended the trial; the trainer catches it around the function.

    Not an `Exception`, so that a script's `except Exception` does not take it for an error.
    """


def _trial() -> Any:
    """What a function that Tune runs as a trial knows of it; None elsewhere."""
    module = sys.modules.get("ray.train._internal.session")
    if module is None or module.get_session() is None:
        return None
    from ray import tune

    return tune.get_context()


def report(metrics: Mapping[str, Any], *, checkpoint: Any = None) -> None:
    """Reports metrics, and a checkpoint of which Ray keeps what rank 0 saved; in a trial of Tune, to Tune.

    Up to Ray 2.6 the checkpoints of other ranks were not kept. Train V2 merges the files of all ranks
    (docs/semantics/train-v2.md#reports), and which of two files of the same name remains is chance: other ranks report
    an empty folder.
    """
    from ray.train.v2.api.train_fn_utils import get_context

    if _trial() is not None:
        _report_to_tune(metrics, checkpoint)
    elif current_job() is None:
        _misused("report")
    else:
        _report(metrics, checkpoint, keep=get_context().get_world_rank() == 0)


def _report_to_tune(metrics: Mapping[str, Any], checkpoint: Any = None) -> None:
    from ray import tune

    with contextlib.ExitStack() as stack:
        if checkpoint is not None:
            checkpoint = tune.Checkpoint.from_directory(stack.enter_context(checkpoint.as_directory()))
        tune.report(dict(metrics), checkpoint=checkpoint)


def report_from_node(metrics: Mapping[str, Any], checkpoint: Any) -> None:
    """Reports a folder that all ranks of a node have written to together: one of them stands for all.

    Ray 2.7 kept the files of every rank, of which `rng_state_N.pth` matter; Ray 2.6 only had rank 0's.
    """
    from ray.train.v2.api.train_fn_utils import get_context

    _report(metrics, checkpoint, keep=get_context().get_local_rank() == 0)


def _report(metrics: Mapping[str, Any], checkpoint: Any, *, keep: bool) -> None:
    import ray.train

    # Train V2 refuses tensors, of which numbers are all that can be compared.
    plain = {name: value.item() if _is_scalar_tensor(value) else value for name, value in metrics.items()}
    with contextlib.ExitStack() as stack:
        if checkpoint is not None:
            folder = checkpoint.as_directory() if keep else tempfile.TemporaryDirectory(prefix="checkpoint_tmp_")
            checkpoint = ray.train.Checkpoint.from_directory(stack.enter_context(folder))
        ray.train.report(plain, checkpoint=checkpoint)  # that of `replace_functions`
    job = current_job()
    if job is not None and job.stop:
        _count_towards_stop(job, plain)


def together(what: str) -> None:
    """Ends a job whose workers do not report equally often, as the old trainers did; Train V2 waits for ever.

    ray 2.6.3, train/_internal/backend_executor.py, `get_next_results`.

    Args:
        what: What this worker is about to do: `REPORTS` or `ENDED`.
    """
    from ray.train.collective import broadcast_from_rank_zero
    from ray.train.v2._internal.exceptions import BroadcastCollectiveTimeoutError

    if current_job() is None:
        return
    unequal = RuntimeError(
        "Some workers returned results while others didn't. Make sure that `session.report()` are called the same "
        "number of times on all workers."
    )
    try:
        if broadcast_from_rank_zero(what) != what:
            raise unequal
    except BroadcastCollectiveTimeoutError:  # the others wait for this one elsewhere, such as for its gradients
        raise unequal from None


def _is_scalar_tensor(value: Any) -> bool:
    return type(value).__module__ == "torch" and hasattr(value, "numel") and value.numel() == 1


_reports = 0


def _count_towards_stop(job: Job, metrics: Mapping[str, Any]) -> None:
    """Ends training when rank 0 reports that a metric has reached its bound, as Tune did with `RunConfig(stop={})`."""
    from ray.train.collective import broadcast_from_rank_zero

    global _reports  # noqa: PLW0603 - one train function runs in a worker's process
    _reports += 1
    known = {"training_iteration": _reports, **metrics}
    if broadcast_from_rank_zero(any(name in known and known[name] >= bound for name, bound in job.stop.items())):
        raise TrialStopped


def get_checkpoint() -> Any:
    """The checkpoint to go on from: the last one before a failure, else `resume_from_checkpoint=`, else None."""
    from ray.train.v2.api.train_fn_utils import get_checkpoint as current

    if _trial() is not None:
        return _checkpoint_of_trial()
    job = current_job()
    if job is None:
        return _misused("get_checkpoint")
    checkpoint = current() or job.resume
    if checkpoint is None or job.checkpoint_class is None:
        return checkpoint
    return job.checkpoint_class.from_checkpoint(checkpoint)


def _checkpoint_of_trial() -> Any:
    from ray import tune

    from raymigrate_standin.air_checkpoint import Checkpoint

    checkpoint = tune.get_checkpoint()
    return None if checkpoint is None else Checkpoint.from_checkpoint(checkpoint)


def get_dataset_shard(dataset_name: str | None = None) -> Any:
    """This worker's rows of a dataset; None if there is no such dataset (a KeyError today)."""
    from ray.train.v2.api.train_fn_utils import get_dataset_shard as current

    if current_job() is None:
        return _misused("get_dataset_shard")
    try:
        return current(dataset_name)
    except KeyError:
        return None


def get_world_size() -> int:
    """Number of workers."""
    return int(_ask("get_world_size", 1))


def get_world_rank() -> int:
    """Number of this worker."""
    return int(_ask("get_world_rank", 0))


def get_local_rank() -> int:
    """Number of this worker on its node."""
    return int(_ask("get_local_rank", 0))


def get_local_world_size() -> int:
    """Number of workers on this node."""
    return int(_ask("get_local_world_size", 0))


def get_node_rank() -> int:
    """Number of this node."""
    return int(_ask("get_node_rank", 0))


def get_experiment_name() -> Any:
    """`RunConfig(name=)`, or what Ray made up."""
    job = current_job()
    return job.experiment if job else _ask_tune("get_experiment_name")


def get_trial_name() -> Any:
    """Name of the trial."""
    job = current_job()
    return job.trial_name if job else _ask_tune("get_trial_name")


def get_trial_id() -> Any:
    """Name of the trial without the trainer's."""
    job = current_job()
    return job.trial_id if job else _ask_tune("get_trial_id")


def get_trial_dir() -> Any:
    """Where the run's checkpoints are."""
    from ray.train.v2.api.train_fn_utils import get_context

    if current_job() is None:
        return _misused("get_trial_dir") if _trial() is None else _folder_of_trial()
    return str(get_context().get_storage().experiment_fs_path)


def _folder_of_trial() -> str:
    """Where a trial of Tune leaves its files; today Tune itself names a folder that is gone after the trial."""
    from ray.train._internal.session import get_session

    return str(get_session().storage.trial_fs_path)


def get_trial_resources() -> Any:
    """What the trial reserves: a bundle for the trainer, and one for each worker."""
    from ray.tune.execution.placement_groups import PlacementGroupFactory

    job = current_job()
    if job is None:
        return _ask_tune("get_trial_resources")
    head = {"CPU": 1.0} if job.trainer_resources is None else job.trainer_resources
    return PlacementGroupFactory([head] + [job.worker_resources] * job.num_workers)


def get_metadata() -> Any:
    """`metadata=` of the trainer, which Ray 2.7 had."""
    job = current_job()
    return (job.metadata or {}) if job else _misused("get_metadata")


def _ask(name: str, outside: int) -> Any:
    from ray.train.v2.api.train_fn_utils import get_context

    return getattr(get_context(), name)() if current_job() is not None else _misused(name, outside)


def _ask_tune(name: str) -> Any:
    trial = _trial()
    return _misused(name) if trial is None else getattr(trial, name)()


def _misused(name: str, outside: Any = None) -> Any:
    warnings.warn(
        f"`{name}` is meant to only be called inside a function that is executed by a Tuner or Trainer. "
        f"Returning `{outside}`.",
        stacklevel=3,
    )
    return outside


FUNCTIONS = (
    report,
    get_checkpoint,
    get_dataset_shard,
    get_world_size,
    get_world_rank,
    get_local_rank,
    get_local_world_size,
    get_node_rank,
    get_experiment_name,
    get_trial_name,
    get_trial_id,
    get_trial_dir,
    get_trial_resources,
)


def replace_session(module: ModuleType) -> None:
    """Puts the functions into `ray.air.session`."""
    for function in FUNCTIONS:
        setattr(module, function.__name__, function)


def replace_functions(module: ModuleType) -> None:
    """`ray.train.get_checkpoint`, `get_dataset_shard`, `report` and `get_context` of Ray 2.7.

    The last two are today's, but in a function that Tune runs, for which they are refused today.
    """
    current_report, current_context = module.report, module.get_context

    @functools.wraps(current_report)
    def report_of_27(metrics: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        if _trial() is not None:
            return _report_to_tune(metrics, *args, **kwargs)
        together(REPORTS)
        return current_report(metrics, *args, **kwargs)

    @functools.wraps(current_context)
    def context_of_27() -> Any:
        return _trial() or current_context()

    functions = {"report": report_of_27, "get_context": context_of_27}
    vars(module).update(functions, get_checkpoint=get_checkpoint, get_dataset_shard=get_dataset_shard)


def replace_tune_functions(module: ModuleType) -> None:
    """`ray.tune.report(loss=...)` and the names of a trial, of Ray 2.6 (2.6.3, tune/trainable/session.py)."""
    current = module.report

    @functools.wraps(current)
    def report_keywords(metrics: Any = None, /, **values: Any) -> None:
        if not isinstance(metrics, Mapping) and not isinstance(values.get("metrics"), Mapping):
            anonymous = {} if metrics is None else {"_metric": metrics}
            current({**anonymous, **values})
        elif metrics is None:
            current(**values)
        else:
            current(metrics, **values)

    vars(module)["report"] = report_keywords
    for function in (get_trial_name, get_trial_id, get_trial_dir, get_trial_resources):
        setattr(module, function.__name__, function)


def replace_context(module: ModuleType) -> None:
    """What `ray.train.get_context()` of Ray 2.7 knew and today's refuses to say."""
    for function in (get_trial_name, get_trial_id, get_trial_dir, get_trial_resources, get_metadata):
        setattr(module.TrainContext, function.__name__, staticmethod(function))


def check_stop(stop: Any) -> None:
    """Refuses a `RunConfig(stop=)` that is not a dict of bounds."""
    if stop and not isinstance(stop, Mapping):
        raise NotImplementedError(unknown("RunConfig(stop=) with a function or a Stopper"))
