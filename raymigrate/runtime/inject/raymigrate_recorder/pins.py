"""Determinism pins: what would differ between two runs of the same job, or between two generations of the libraries.

Each pin is on when its name is in `settings.pins`. `raymigrate.runtime.verify.pins` describes them to the user. Those
of the order of rows are in `order`.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

from raymigrate_recorder import asked
from raymigrate_recorder.importing import after
from raymigrate_recorder.settings import settings
from raymigrate_recorder.trace import rank
from raymigrate_recorder.training import worker

Install = Callable[[Any], None]
_installers: dict[str, Install] = {}


def pin(name: str) -> Callable[[Install], Install]:
    """Decorator: the function sets the hooks of a pin, given its value."""

    def register(function: Install) -> Install:
        _installers[name] = function
        return function

    return register


def install() -> None:
    """Sets the hooks of the pins that are on."""
    for name, value in settings.pins.items():
        if name in _installers:
            _installers[name](value)


def apply_in_worker() -> None:
    """The pins that are set when the process group is up, before the train function begins."""
    import torch

    if "threads" in settings.pins:
        torch.set_num_threads(settings.pins["threads"])
    if "deterministic" in settings.pins:
        torch.use_deterministic_algorithms(True, warn_only=True)
    if "seed" in settings.pins:
        seed_everything(settings.pins["seed"])


def apply_to_search() -> None:
    """The driver draws the settings that a Tuner tries."""
    if "seed" in settings.pins:
        import random

        import numpy

        random.seed(settings.pins["seed"])
        numpy.random.seed(settings.pins["seed"])


def seed_everything(seed: int) -> None:
    """Seeds Python, numpy and torch, alike on every worker."""
    import random

    import numpy
    import torch

    random.seed(seed)
    numpy.random.seed(seed)
    torch.manual_seed(seed)


def set_default(owner: Any, name: str, value: Any) -> None:
    """Changes the default of a dataclass' field, for the class and for those that are derived from it later."""
    import inspect

    field = owner.__dataclass_fields__.get(name)
    if field is None:  # this version has no such field
        return
    field.default = value
    setattr(owner, name, value)
    initialize = inspect.unwrap(owner.__init__)
    names = [p.name for p in inspect.signature(initialize).parameters.values() if p.default is not p.empty]
    defaults = list(initialize.__defaults__)
    defaults[names.index(name)] = value
    initialize.__defaults__ = tuple(defaults)


@pin("dropout")
def _dropout(seed: int) -> None:
    """Seeds torch before each training pass, so that dropout does not hang on how often a library drew before."""

    @after("torch.nn.modules.module")
    def _module(module: ModuleType) -> None:
        def reseed(model: Any, args: Any) -> None:
            import torch

            if rank() is not None and model is worker.model and model.training:
                step = worker.progress.get("global_step", worker.steps + 1)
                torch.manual_seed(seed + 1_000_003 * step + 1_009 * len(worker.forwards) + (rank() or 0))

        module.register_module_forward_pre_hook(reseed)


@pin("attention")
def _attention(implementation: str) -> None:
    """Fixes the attention implementation where the script leaves it to the library."""

    @after("transformers.modeling_utils")
    def _modeling(module: ModuleType) -> None:
        model = module.PreTrainedModel
        if hasattr(model, "get_correct_attn_implementation"):  # since transformers 4.55
            choose = model.get_correct_attn_implementation

            @functools.wraps(choose)
            def chosen(self: Any, requested: Any = None, *args: Any, **kwargs: Any) -> Any:
                asked.attention[type(self).__name__] = str(requested or "sdpa")  # the default where a model has it
                requested = implementation if requested in (None, "sdpa") else requested
                return choose(self, requested, *args, **kwargs)

            model.get_correct_attn_implementation = chosen
        elif implementation == "eager" and hasattr(model, "_check_and_enable_sdpa"):  # 4.36 to 4.54

            def eager(cls: Any, config: Any, *args: Any, **kwargs: Any) -> Any:
                config._attn_implementation = "eager"
                return config

            model._check_and_enable_sdpa = classmethod(eager)


@pin("loss-mean")
def _loss_mean(value: bool) -> None:
    """Since 4.46 the Trainer divides the summed loss by its own count of labels, before it took each batch's mean.

    The count differs from the mean's where batches hold padding, and for models whose class is not named
    `...ForCausalLM`, such as GPT2LMHeadModel: there it takes in the first label, which is never predicted (trainer.py,
    `_loss_shifts_labels`). A script that asks for the count over all devices keeps it.
    """

    @after("transformers.trainer")
    def _trainer(module: ModuleType) -> None:
        count = getattr(module.Trainer, "_get_num_items_in_batch", None)
        if count is None:
            return

        @functools.wraps(count)
        def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
            return count(self, *args, **kwargs) if self.args.average_tokens_across_devices else None

        module.Trainer._get_num_items_in_batch = counted


@pin("optimizer")
def _optimizer(name: str) -> None:
    """The Trainer's default optimizer was Hugging Face's own AdamW, then torch's, and is torch's fused one today."""

    @after("transformers.training_args")
    def _arguments(module: ModuleType) -> None:
        default, pinned = module.TrainingArguments.__dataclass_fields__["optim"].default, module.OptimizerNames(name)
        set_default(module.TrainingArguments, "optim", pinned)
        initialize = module.TrainingArguments.__post_init__

        @functools.wraps(initialize)
        def remembered(self: Any) -> None:
            asked.remember(self, optim=default if self.optim is pinned else self.optim)
            initialize(self)

        module.TrainingArguments.__post_init__ = remembered


@pin("dtype")
def _dtype(name: str) -> None:
    """transformers 5 loads weights in the dtype of the checkpoint by default; before, in float32."""

    @after("transformers.modeling_utils")
    def _modeling(module: ModuleType) -> None:
        import torch

        load = module.PreTrainedModel.from_pretrained.__func__

        @functools.wraps(load)
        def loaded(cls: Any, *args: Any, **kwargs: Any) -> Any:
            dtype = kwargs.get("dtype", kwargs.get("torch_dtype"))
            asked.dtypes[cls.__name__] = str(dtype or "default").replace("torch.", "")
            if "dtype" not in kwargs and "torch_dtype" not in kwargs:
                kwargs["torch_dtype"] = getattr(torch, name)
            return load(cls, *args, **kwargs)

        module.PreTrainedModel.from_pretrained = classmethod(loaded)


if "deterministic" in settings.pins:
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS reads it when it starts
