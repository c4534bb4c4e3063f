"""The pins of the order of rows: what shuffles them, in torch, accelerate, transformers and Ray Data."""

from __future__ import annotations

import functools
import inspect
import itertools
import json
import math
import os
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from raymigrate_recorder.importing import after
from raymigrate_recorder.pins import pin
from raymigrate_recorder.trace import rank
from raymigrate_recorder.training import worker

PASSES = "_raymigrate_passes"  # on the seed of a shuffled dataset: the process that reads it, and how often it did


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

    @after("ray.data._internal.random_config")
    def _shuffled_datasets(module: ModuleType) -> None:
        _seed_datasets(module, seed)

    @after("ray.data._internal.batcher")
    def _shuffled_batches(module: ModuleType) -> None:
        _seed_batches(module, seed)


def _seed_datasets(module: ModuleType, seed: int) -> None:
    """Seeds what Ray Data shuffles or samples without a seed of the script's, another order in each pass."""
    plain = module.RandomSeedConfig.get_seed_tuple

    @functools.wraps(plain)
    def seeded(self: Any, **kwargs: Any) -> Any:
        if self.seed is not None:
            return plain(self, **kwargs)
        # Counted in each process anew, wherever the dataset was read before it came there.
        process, passed = vars(self).get(PASSES, (None, 0))
        number = passed if process == os.getpid() else 0
        vars(self)[PASSES] = os.getpid(), number + 1
        return module.SeedTuple(seed=seed, execution_idx=number)

    module.RandomSeedConfig.get_seed_tuple = seeded


def _seed_batches(module: ModuleType, seed: int) -> None:
    """Seeds `local_shuffle_buffer_size=` where no `local_shuffle_seed=` is given."""
    batcher, made = module.ShufflingBatcher, itertools.count()
    initialize = batcher.__init__
    signature = inspect.signature(initialize)

    @functools.wraps(initialize)
    def seeded(self: Any, *args: Any, **kwargs: Any) -> None:
        given = signature.bind(self, *args, **kwargs).arguments
        if given.get("shuffle_seed") is None:
            given["shuffle_seed"] = seed + next(made)
        initialize(**given)

    batcher.__init__ = seeded


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
