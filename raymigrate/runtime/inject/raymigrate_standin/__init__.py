"""Stand-in for the trainers that Ray removed: it lets an original script run on current libraries (arm B of `verify`).

The old names are importable at their old paths, and do on current Ray (Train V2) what they did on Ray 2.1 to 2.6; where
those versions differ, what 2.6 did counts. Sources are the wheels of Ray, quoted as "ray 2.6.3, path:line" below.

Nothing of Ray is imported until the script itself imports it: `install` only sets hooks. The package is used under the
name `raymigrate_standin`, imports nothing of raymigrate, and is on the PYTHONPATH of Ray's workers too, so that what it
defines can be pickled by name.

Modules: `importing` makes the names importable; `air_config`, `air_checkpoint`, `air_session`, `logger_callbacks` and
`preprocessors` are ray.air and its neighbours; `own_classes` is what scripts made from them; `ray_data` is Ray Data,
and `ingest` what became of datasets before training; `torch_trainer` is what all trainers share, with `job` and
`results`; `tuner` is what searches with them, and `predictors` what comes after; `transformers_trainer` is the
driver's side of HuggingFaceTrainer alias TransformersTrainer, `transformers_loop` the workers' side and
`transformers_report` its callback; `accelerate_trainer` and `accelerate_environment` are AccelerateTrainer.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from raymigrate_standin import air_config, air_session, own_classes, ray_data
from raymigrate_standin.importing import GONE_MODULES, LENT_NAMES, UNKNOWN_NAMES, GoneModules, lend

Patch = Callable[[ModuleType], None]


def install(after: Callable[[str], Callable[[Patch], Any]]) -> None:
    """Arranges for every old name to be importable.

    Args:
        after: `after("a.module")(patch)` has `patch` called with that module right after its first import.
    """
    # First, because it also answers for modules which are there no more in order to refuse them.
    sys.meta_path.insert(0, GoneModules())
    for module in sorted({*GONE_MODULES, *LENT_NAMES, *UNKNOWN_NAMES}):
        after(module)(lend)
    after("ray.air.config")(air_config.accept_old_arguments)
    after("ray.train.v2.api.config")(air_config.accept_old_arguments)
    for module in ("ray.train._internal.syncer", "ray.tune.syncer"):
        after(module)(air_config.accept_old_sync_arguments)
    after("ray.air.session")(air_session.replace_session)
    after("ray.train")(air_session.replace_functions)
    after("ray.tune")(air_session.replace_tune_functions)
    after("ray.train.v2.api.context")(air_session.replace_context)
    after("ray.data")(ray_data.old_functions)
    after("ray.data.dataset")(ray_data.old_methods)
    after("ray.data.iterator")(lambda module: ray_data.old_iterators(module.DataIterator))
    after("ray.data.preprocessor")(own_classes.fit_as_before)
    after("ray.train.torch.torch_checkpoint")(own_classes.save_models_by_value)
    after("ray.tune.tuner")(_tune_trainers)
    after("transformers.training_args")(_average_like_before)


def _tune_trainers(module: ModuleType) -> None:
    """Lets a Tuner take a trainer, and return old checkpoints."""
    from raymigrate_standin import tuner

    tuner.accept_trainers(module.Tuner)


def _average_like_before(module: ModuleType) -> None:
    """Each worker's loss is averaged over the worker's own tokens, as in every transformers before 4.46.

    No script of that time can ask for anything else: `average_tokens_across_devices` is a field since 4.46, and off by
    default up to 4.53.
    """
    initialize = module.TrainingArguments.__post_init__

    @functools.wraps(initialize)
    def initialized(self: Any) -> None:
        self.average_tokens_across_devices = False
        initialize(self)

    module.TrainingArguments.__post_init__ = initialized
