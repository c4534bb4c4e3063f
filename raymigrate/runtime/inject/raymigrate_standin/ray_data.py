"""What Ray Data did in the calls that it answers differently today (docs/semantics/data.md#ray-data)."""

from __future__ import annotations

import functools
import sys
from types import ModuleType
from typing import Any

from raymigrate_standin.air_config import minor_version

FRAMES_UNTIL = 3  # Ray 2.3: batches of tables were DataFrames where no batch_format= is given
LARGE_BATCHES_UNTIL = 4  # Ray 2.4: 4096 rows where no batch_size= is given, later 1024; today all of a block
DEFAULT = "default"
ITERATORS = ("iter_rows", "iter_batches", "iter_torch_batches", "iter_tf_batches", "to_torch", "to_tf")


def old_functions(module: ModuleType) -> None:
    """`ray.data.from_huggingface` of a DatasetDict: a dict of Datasets, until Ray 2.6."""
    one_split = module.from_huggingface

    @functools.wraps(one_split)
    def from_huggingface(dataset: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(dataset, dict):  # as DatasetDict and IterableDatasetDict are
            return {name: one_split(split, *args, **kwargs) for name, split in dataset.items()}
        return one_split(dataset, *args, **kwargs)

    vars(module)["from_huggingface"] = from_huggingface


def old_methods(module: ModuleType) -> None:
    """Methods of a Dataset that are gone, and `map_batches` with the defaults of its time."""
    dataset = module.Dataset
    dataset.fully_executed = dataset.materialize
    dataset.lazy = lambda self: self
    dataset.to_torch = lambda self, **kwargs: self.iterator().to_torch(**kwargs)
    old_iterators(dataset)
    map_batches = dataset.map_batches

    @functools.wraps(map_batches)
    def old_batches(self: Any, fn: Any, *args: Any, **kwargs: Any) -> Any:
        if _is_of_script():
            kwargs.setdefault("zero_copy_batch", False)
            if kwargs.get("batch_size", DEFAULT) == DEFAULT:
                kwargs["batch_size"] = default_batch_size()
            if kwargs.get("batch_format", DEFAULT) == DEFAULT and minor_version(default=6) <= FRAMES_UNTIL:
                kwargs["batch_format"] = "pandas"
        return map_batches(self, fn, *args, **kwargs)

    dataset.map_batches = old_batches


def old_iterators(owner: Any) -> None:
    """Ways to iterate over a class of Ray Data, with how many blocks to fetch ahead, which does not change the rows."""
    for name in ITERATORS:
        method = getattr(owner, name, None)
        if method is not None:
            setattr(owner, name, _without_prefetch(method))


def _without_prefetch(method: Any) -> Any:
    @functools.wraps(method)
    def old(self: Any, *args: Any, prefetch_blocks: int = 0, **kwargs: Any) -> Any:
        return method(self, *args, **kwargs)

    return old


def default_batch_size() -> int:
    """Rows of a batch where the script says nothing (2.4.0 data/dataset.py; 2.6.3 data/block.py)."""
    return 4096 if minor_version(default=6) <= LARGE_BATCHES_UNTIL else 1024


def _is_of_script() -> bool:
    """Whether the call comes from outside of Ray, which knows its own defaults of today."""
    caller = sys._getframe(2).f_globals.get("__name__", "")
    return not caller.startswith("ray.")
