"""Makes names and modules importable that current Ray no longer has.

Tables say where each name was (docs/semantics/names.md, taken from the wheels of Ray 2.0 to 2.9). A name is looked up
in this package only when the script asks for it, so that an import of, say, `ray.air` stays as light as it is.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

CHECKPOINT = "air_checkpoint:Checkpoint"
LOGGER = "logger_callbacks:LoggerCallback"
HUGGING_FACE = {
    "HuggingFaceTrainer": "transformers_trainer:HuggingFaceTrainer",
    "HuggingFaceCheckpoint": "air_checkpoint:HuggingFaceCheckpoint",
    "TransformersTrainer": "transformers_trainer:TransformersTrainer",
    "TransformersCheckpoint": "air_checkpoint:TransformersCheckpoint",
    "LegacyTransformersCheckpoint": "air_checkpoint:TransformersCheckpoint",
}
PREDICTORS = {
    "HuggingFacePredictor": "predictors:HuggingFacePredictor",
    "TransformersPredictor": "predictors:TransformersPredictor",
}
ACCELERATE = {"AccelerateTrainer": "accelerate_trainer:AccelerateTrainer"}

# Modules that current Ray has, and what they had besides or had otherwise. "=ray.x" stands for that module itself.
LENT_NAMES = {
    "ray.air": {
        "Checkpoint": CHECKPOINT,
        "DatasetConfig": "ingest:DatasetConfig",
        "session": "=ray.air.session",
        "checkpoint": "=ray.air.checkpoint",
    },
    "ray.air.config": {"DatasetConfig": "ingest:DatasetConfig"},
    "ray.air.integrations.comet": {"CometLoggerCallback": LOGGER},
    "ray.air.integrations.mlflow": {"MLflowLoggerCallback": LOGGER},
    "ray.air.integrations.wandb": {"WandbLoggerCallback": LOGGER},
    "ray.train.huggingface": {**HUGGING_FACE, **PREDICTORS, **ACCELERATE},
    "ray.train.huggingface.transformers": {**HUGGING_FACE, **PREDICTORS},
    "ray.train.torch": {"TorchTrainer": "torch_trainer:TorchTrainer"},
    "ray.data.preprocessors": {"BatchMapper": "preprocessors:BatchMapper"},
}

# A module within one of them, which that one imports itself, and so is lent the same names only when that is done.
DEFINING_MODULES = {"ray.train.torch": "ray.train.torch.torch_trainer"}

# Modules that are gone, from some version on: Ray 2.51 still has ray.train.predictor, and is lent its old names.
GONE_MODULES = {
    "ray.air.checkpoint": {"Checkpoint": CHECKPOINT},
    "ray.air.callbacks": {},
    "ray.air.callbacks.comet": {"CometLoggerCallback": LOGGER},
    "ray.air.callbacks.mlflow": {"MLflowLoggerCallback": LOGGER},
    "ray.air.callbacks.wandb": {"WandbLoggerCallback": LOGGER},
    "ray.data.preprocessors.batch_mapper": {"BatchMapper": "preprocessors:BatchMapper"},
    "ray.train.batch_predictor": {"BatchPredictor": "predictors:BatchPredictor"},
    "ray.train.predictor": {"Predictor": "predictors:Predictor"},
    "ray.train.huggingface.huggingface_predictor": PREDICTORS,
    "ray.train.huggingface.transformers.transformers_predictor": PREDICTORS,
    "ray.train.huggingface.huggingface_trainer": HUGGING_FACE,
    "ray.train.huggingface.huggingface_checkpoint": HUGGING_FACE,
    "ray.train.huggingface.transformers.transformers_trainer": HUGGING_FACE,
    "ray.train.huggingface.transformers.transformers_checkpoint": HUGGING_FACE,
    "ray.train.huggingface.accelerate": ACCELERATE,
    "ray.train.huggingface.accelerate.accelerate_trainer": ACCELERATE,
}
PACKAGES = ("ray.air.callbacks", "ray.train.huggingface.accelerate")

# What is gone and has no stand-in: a script that imports it fails at once, and not after it has trained.
UNKNOWN_NAMES = {"ray.train.torch": ("TorchPredictor",), "ray.data": ("DatasetPipeline",)}
UNKNOWN_MODULES = ("ray.air.util.check_ingest", "ray.ml", "ray.util.ml_utils")


def unknown(what: str) -> str:
    """The sentence for what the stand-in does not do."""
    return (
        f"{what} is not known to raymigrate's stand-in for the old trainers (arm B); "
        "`raymigrate verify --arms A,O` runs the script on the old Ray itself."
    )


def find(target: str) -> Any:
    """The object that an entry of the tables stands for."""
    module, _, name = target.partition(":")
    module = module[1:] if module.startswith("=") else f"raymigrate_standin.{module}"
    found = importlib.import_module(module)
    return getattr(found, name) if name else found


def lend(module: ModuleType) -> None:
    """Lets an existing module have the names that it had before, and the one within it that defines them."""
    names = {**GONE_MODULES.get(module.__name__, {}), **LENT_NAMES.get(module.__name__, {})}
    _lend(module, names)
    if module.__name__ in DEFINING_MODULES:
        _lend(sys.modules[DEFINING_MODULES[module.__name__]], names)


def _lend(module: ModuleType, names: dict[str, str]) -> None:
    had_before = getattr(module, "__getattr__", None)
    for name in names:
        # What is there now would be found first. It is not replaced at once: the stand-in is derived from it, and this
        # module is not quite imported yet.
        vars(module).pop(name, None)

    def lookup(name: str) -> Any:
        if name in names:
            return find(names[name])
        if name in UNKNOWN_NAMES.get(module.__name__, ()):
            raise ImportError(unknown(f"{module.__name__}.{name}"))
        if had_before is not None:
            return had_before(name)
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    module.__getattr__ = lookup  # type: ignore[method-assign]


class GoneModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules that are gone, and refuses those that it does not stand in for."""

    def find_spec(  # noqa: D102 - of the base class
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not name.startswith("ray."):
            return None
        if name in GONE_MODULES and importlib.machinery.PathFinder.find_spec(name, path) is None:
            return importlib.machinery.ModuleSpec(name, GoneModules(), is_package=name in PACKAGES)
        if any(name == module or name.startswith(f"{module}.") for module in UNKNOWN_MODULES):
            raise ModuleNotFoundError(unknown(name), name=name)
        return None

    def exec_module(self, module: ModuleType) -> None:  # noqa: D102 - of the base class
        names = GONE_MODULES[module.__name__]

        def lookup(name: str) -> Any:
            if name in names:
                return find(names[name])
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        module.__getattr__ = lookup  # type: ignore[method-assign]
        module.__all__ = list(names)  # type: ignore[attr-defined]
