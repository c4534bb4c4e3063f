"""Determinism pins: what would differ between two runs of the same job, or between two generations of the libraries.

Each pin is on when its name is in `settings.pins`. `raymigrate.runtime.verify.pins` describes them to the user.
"""

from __future__ import annotations

import functools
import json
import math
import os
from collections.abc import Callable, Iterator
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


@pin("data-order")
def _data_order(seed: int) -> None:
    """Makes the order of shuffled data a function of seed and epoch, whatever sampler and generator a library uses."""
    passes: dict[int, int] = {}

    def order(sampler: Any) -> Iterator[int]:
        import torch

        size = len(sampler.data_source)
        passes[size] = passes.get(size, -1) + 1
        generator = torch.Generator()
        generator.manual_seed(seed + worker.progress.get("epoch", passes[size]))
        if sampler.replacement:
            yield from torch.randint(size, (sampler.num_samples,), generator=generator).tolist()
            return
        for _ in range(sampler.num_samples // size):
            yield from torch.randperm(size, generator=generator).tolist()
        yield from torch.randperm(size, generator=generator).tolist()[: sampler.num_samples % size]

    @after("accelerate.checkpointing")
    def _checkpoints(module: ModuleType) -> None:
        _keep_with_checkpoints(module, passes)

    @after("torch.utils.data.sampler")
    def _torch(module: ModuleType) -> None:
        module.RandomSampler.__iter__ = order

    @after("accelerate.data_loader")
    def _accelerate(module: ModuleType) -> None:
        if hasattr(module, "SeedableRandomSampler"):
            module.SeedableRandomSampler.__iter__ = order

    @after("transformers.trainer")
    def _transformers(module: ModuleType) -> None:
        _deal_whole_batches(module, order)


def _keep_with_checkpoints(module: ModuleType, passes: dict[int, int]) -> None:
    """Saves and loads how often each dataset was shuffled, as accelerate does with the state of torch's generator."""
    save, load = module.save_accelerator_state, module.load_accelerator_state

    def place(folder: Any) -> str:
        return os.path.join(folder, f"raymigrate_passes_{rank() or 0}.json")

    @functools.wraps(save)
    def saved(output_dir: Any, *args: Any, **kwargs: Any) -> Any:
        with open(place(output_dir), "w") as stream:
            json.dump(list(passes.items()), stream)
        return save(output_dir, *args, **kwargs)

    @functools.wraps(load)
    def loaded(input_dir: Any, *args: Any, **kwargs: Any) -> Any:
        if os.path.exists(place(input_dir)):
            with open(place(input_dir)) as stream:
                passes.update(json.load(stream))
        return load(input_dir, *args, **kwargs)

    vars(module).update(save_accelerator_state=saved, load_accelerator_state=loaded)


def _deal_whole_batches(module: ModuleType, order: Callable[[Any], Iterator[int]]) -> None:
    """Gives transformers before 4.31 the way in which later ones deal rows to workers.

    The old Trainer used DistributedSampler, which deals row by row; since 4.31 accelerate's BatchSamplerShard deals
    batch by batch. The rows of a global step are the same, the worker that sees them is not.
    """
    from torch.utils.data import DistributedSampler, RandomSampler

    class WholeBatches(RandomSampler):  # type: ignore[misc]
        """This worker's share of a shuffled dataset, batch number b * workers + rank."""

        def __init__(self, dataset: Any, args: Any) -> None:
            super().__init__(dataset)
            self.batch, self.workers, self.process = args.train_batch_size, args.world_size, args.process_index

        def __len__(self) -> int:
            batches = math.ceil(len(self.data_source) / (self.workers * self.batch))
            return int(batches * self.batch)

        def __iter__(self) -> Iterator[int]:
            rows = list(order(self))
            total = len(self) * self.workers
            rows += (rows * (total // len(rows) + 1))[: total - len(rows)]
            for number in range(self.process, total // self.batch, self.workers):
                yield from rows[number * self.batch : (number + 1) * self.batch]

        def set_epoch(self, epoch: int) -> None:
            """The old Trainer calls it; the epoch comes from the recorder."""

    choose = module.Trainer._get_train_sampler

    @functools.wraps(choose)
    def chosen(self: Any, *args: Any, **kwargs: Any) -> Any:
        sampler = choose(self, *args, **kwargs)
        shuffled = type(sampler) is DistributedSampler and sampler.shuffle
        return WholeBatches(self.train_dataset, self.args) if shuffled else sampler

    module.Trainer._get_train_sampler = chosen


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

    @after("transformers.optimization")
    def _optimization(module: ModuleType) -> None:
        if not hasattr(module, "AdamW") or module.AdamW.__module__ != module.__name__:
            return
        import torch

        def adamw(
            params: Any,
            lr: float = 1e-3,
            betas: Any = (0.9, 0.999),
            eps: float = 1e-6,
            weight_decay: float = 0.0,
            correct_bias: bool = True,
            no_deprecation_warning: bool = False,
        ) -> Any:
            return torch.optim.AdamW(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)

        vars(module)["AdamW"] = adamw


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


@pin("preserve-order")
def _preserve_order(value: bool) -> None:
    """Ray Data hands blocks on as they are done, unless it is told to keep their order."""

    @after("ray.data.context")
    def _context(module: ModuleType) -> None:
        current = module.DataContext.get_current

        @functools.wraps(current)
        def ordered() -> Any:
            context = current()
            if not getattr(context, "_raymigrate_ordered", False):  # once, so that a script can choose otherwise
                context._raymigrate_ordered = True
                context.execution_options.preserve_order = value
            return context

        module.DataContext.get_current = staticmethod(ordered)


if "deterministic" in settings.pins:
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS reads it when it starts
