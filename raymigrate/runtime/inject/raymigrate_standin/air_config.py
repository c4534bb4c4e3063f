"""The old configuration classes: keywords that current Ray refuses, and the translation for Train V2.

`ray.air.config` still has Ray's own old classes, which Train V2 refuses; `ray.train` has the new ones, which refuse the
old keywords (docs/semantics/train-v2.md#refused-arguments). Both take the old keywords here, and `translated_*` makes
the new kind of either.
"""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from raymigrate_standin.importing import unknown

# What the classes took in some version from 2.0 to 2.7, and Train V2 refuses
# (docs/semantics/names.md#fields-of-the-configuration-classes). None of it changes what is trained; `stop`, which does,
# and `trainer_resources`, which a script can ask for, are remembered.
IGNORED = {
    "RunConfig": ("sync_config", "verbose", "progress_reporter", "log_to_file"),
    "ScalingConfig": ("_max_cpu_fraction_per_node",),
    "CheckpointConfig": (
        "checkpoint_frequency",
        "checkpoint_at_end",
        "_checkpoint_keep_all_ranks",
        "_checkpoint_upload_from_workers",
    ),
    "FailureConfig": ("fail_fast",),
}
V2_ONLY = ("worker_runtime_env", "logging_config")
REMEMBERED = {"RunConfig": "stop", "ScalingConfig": "trainer_resources"}
SCALING = ("num_workers", "use_gpu", "resources_per_worker", "placement_strategy", "accelerator_type")
SEARCHED = "raymigrate_searched"  # on a ScalingConfig: the arguments for which a Tuner finds a value


def accept_old_arguments(module: ModuleType) -> None:
    """Lets the configuration classes of a module take the keywords of every Ray from 2.0 on."""
    new = module.__name__.startswith("ray.train.v2.")
    for name, ignored in IGNORED.items():
        owner = getattr(module, name)
        if not new:  # the older classes have most of it, and Tune uses it
            ignored = tuple(field for field in ignored if field not in owner.__dataclass_fields__)
        # In place, because Train V2's classes are derived from the older ones, and are asked for with isinstance.
        _accept(owner, ignored, REMEMBERED.get(name) if new else None)


def _accept(owner: Any, ignored: tuple[str, ...], to_remember: str | None) -> None:
    init = owner.__init__
    name = owner.__name__

    @functools.wraps(init)
    def accepting(self: Any, *args: Any, **kwargs: Any) -> None:
        if name == "RunConfig":
            args, kwargs = _run_arguments(args, kwargs)
        elif to_remember and args:
            # ScalingConfig, first positional in every version: trainer_resources.
            kwargs["trainer_resources"], args = args[0], (None, *args[1:])
        for keyword in ignored:
            kwargs.pop(keyword, None)
        value = kwargs.pop(to_remember, None) if to_remember else None
        if name == "ScalingConfig":
            searched = {keyword: kwargs.pop(keyword) for keyword in list(kwargs) if _is_searched(kwargs[keyword])}
            setattr(self, SEARCHED, searched)
        init(self, *args, **kwargs)
        if to_remember:
            self.raymigrate_remembered = value

    owner.__init__ = accepting


def _is_searched(value: Any) -> bool:
    """Whether a value stands for those that a Tuner tries: `tune.grid_search([1, 2])`, `tune.choice([1, 2])`."""
    return (isinstance(value, dict) and set(value) == {"grid_search"}) or hasattr(value, "get_sampler")


def accept_old_sync_arguments(module: ModuleType) -> None:
    """Lets `SyncConfig` take what it took up to Ray 2.7; `upload_dir` was the name of `storage_path`."""
    init = module.SyncConfig.__init__

    @functools.wraps(init)
    def accepting(self: Any, upload_dir: Any = None, *args: Any, **kwargs: Any) -> None:
        if args:
            raise TypeError(unknown("SyncConfig with more than one positional argument"))
        kwargs.pop("syncer", None)
        kwargs.pop("sync_on_checkpoint", None)
        init(self, **kwargs)
        self.upload_dir = upload_dir

    module.SyncConfig.__init__ = accepting


def _run_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Name and folder as keywords: `name, local_dir` up to Ray 2.4, `name, storage_path` since."""
    if len(args) > 2:
        raise TypeError(unknown("RunConfig with more than two positional arguments"))
    kwargs.update({key: value for key, value in zip(("name", "local_dir"), args, strict=False) if key not in kwargs})
    sync = kwargs.get("sync_config")
    folder = getattr(sync, "upload_dir", None) or kwargs.pop("local_dir", None)
    if folder is not None and kwargs.get("storage_path") is None:
        folder = str(folder)
        kwargs["storage_path"] = folder if "://" in folder else str(Path(folder).expanduser().absolute())
    kwargs.pop("local_dir", None)
    return (), kwargs


def remembered(config: Any, name: str) -> Any:
    """`stop` of a RunConfig, `trainer_resources` of a ScalingConfig, of any kind."""
    if isinstance(config, Mapping):
        return config.get(name)
    if hasattr(config, "raymigrate_remembered"):
        return config.raymigrate_remembered
    return getattr(config, name, None)


def translated_scaling(config: Any) -> Any:
    """Train V2's ScalingConfig.

    Args:
        config: A ScalingConfig of any kind, a dict of its arguments, or None.
    """
    from ray.train.v2.api.config import ScalingConfig

    if isinstance(config, ScalingConfig):
        return config
    return ScalingConfig(**scaling_arguments(config))


def scaling_arguments(config: Any) -> dict[str, Any]:
    """The arguments of a ScalingConfig of any kind, with what a Tuner is to search in the place of a value."""
    if config is None:
        return {}
    if isinstance(config, Mapping):
        return dict(config)
    given = {name: getattr(config, name, None) for name in SCALING}
    return {**given, **getattr(config, SEARCHED, {})}


def translated_run(config: Any, experiment: str, trial: str) -> Any:
    """Train V2's RunConfig, with the old folder `<storage_path>/<experiment>/<trial>` for the run.

    Args:
        config: A RunConfig of any kind, or None.
        experiment: Name of the experiment.
        trial: Name of the trial; it becomes the name of the run.
    """
    from ray.train.constants import DEFAULT_STORAGE_PATH
    from ray.train.v2.api import config as v2
    from ray.train.v2.api.callback import RayTrainCallback

    if config is None:
        config = v2.RunConfig()
    callbacks = [callback for callback in config.callbacks or () if isinstance(callback, RayTrainCallback)]
    for callback in config.callbacks or ():
        if callback not in callbacks:  # a callback of Tune: it logs what was reported, and trains nothing
            warnings.warn(f"{type(callback).__name__} is left out of arm B's run.", stacklevel=4)
    failures, checkpoints = config.failure_config, config.checkpoint_config
    if failures is not None and not isinstance(failures, v2.FailureConfig):
        failures = v2.FailureConfig(max_failures=failures.max_failures)
    if checkpoints is not None and not isinstance(checkpoints, v2.CheckpointConfig):
        checkpoints = v2.CheckpointConfig(
            num_to_keep=checkpoints.num_to_keep,
            checkpoint_score_attribute=checkpoints.checkpoint_score_attribute,
            checkpoint_score_order=checkpoints.checkpoint_score_order or "max",
        )
    return v2.RunConfig(
        name=trial,
        storage_path=f"{str(config.storage_path or DEFAULT_STORAGE_PATH).rstrip('/')}/{experiment}",
        storage_filesystem=config.storage_filesystem,
        failure_config=failures,
        checkpoint_config=checkpoints,
        callbacks=callbacks,
        # Only Train V2 has them, and logging_config not from its first version on.
        **{name: given for name in V2_ONLY if (given := getattr(config, name, None)) is not None},
    )


def minor_version(default: int) -> int:
    """The Ray 2.x that the script was written for: x, or a default where that is not known."""
    _, _, minor = os.environ.get("RAYMIGRATE_STANDIN", "").partition(".")
    return int(minor) if minor.isdecimal() else default
