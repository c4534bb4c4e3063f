"""What old Ray took of a script's own classes: preprocessors, and models that are saved whole."""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any


def fit_as_before(module: ModuleType) -> None:
    """Lets a preprocessor of one's own be fitted whose `_fit()` returns nothing, without `super().__init__()`.

    Ray 2.6.3, data/preprocessor.py, `fit`: what `_fit()` returned was handed on unread. Today it runs what the base
    class' constructor made ready.
    """
    base = module.Preprocessor
    current = base.fit

    def fit(self: Any, ds: Any) -> Any:
        if hasattr(self, "_stat_computation_plan") and not _is_own(self, module):
            return current(self, ds)
        if self.fit_status() == base.FitStatus.NOT_FITTABLE:
            return self
        fitted = self._fit(ds)
        self._fitted = True
        return fitted

    base.fit = fit


def _is_own(preprocessor: Any, module: ModuleType) -> bool:
    """Whether a class outside of Ray says how it is fitted."""
    first = next(kind for kind in type(preprocessor).__mro__ if "_fit" in vars(kind))
    return first.__module__.split(".")[0] not in (module.__name__.split(".")[0], "raymigrate_standin")


def save_models_by_value(module: ModuleType) -> None:
    """Has `TorchCheckpoint.from_model()` pickle a class of the script with its code, and without DDP around it.

    Up to Ray 2.6 the model went to the driver in a dict, by ray.cloudpickle (air/checkpoint.py), and the backend took
    DistributedDataParallel off (train/torch/config.py). Today it is pickled by its class' name, in a worker whose
    `__main__` is not the script.
    """

    def from_model(cls: Any, model: Any, *, preprocessor: Any = None) -> Any:
        import torch
        from ray import cloudpickle

        if isinstance(model, torch.nn.parallel.DistributedDataParallel):
            model = model.module
        folder = tempfile.mkdtemp()
        torch.save(model, Path(folder, cls.MODEL_FILENAME), pickle_module=cloudpickle)
        checkpoint = cls.from_directory(folder)
        if preprocessor:
            checkpoint.set_preprocessor(preprocessor)
        return checkpoint

    module.TorchCheckpoint.from_model = classmethod(from_model)
