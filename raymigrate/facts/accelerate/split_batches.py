"""Whether accelerate splits each batch among the processes, instead of giving each a batch of its own."""

import ast
from collections.abc import Iterator
from types import EllipsisType

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment
from raymigrate.facts.values.dicts import value_of_key
from raymigrate.knowledge.legacy import ACCELERATORS

SPLIT = "split_batches"  # of DataLoaderConfiguration, AcceleratorConfig and the dict that stands for one
# Where it stands for those who give it by position (accelerate 1.15, utils/dataclasses.py:859, accelerator.py:283).
BY_PLACE = {
    ("accelerate.DataLoaderConfiguration", "accelerate.utils.DataLoaderConfiguration"): 0,
    ("transformers.trainer_pt_utils.AcceleratorConfig",): 0,
    tuple(ACCELERATORS): 1,
}


def splits_batches(module: Module) -> bool | EllipsisType:
    """Whether a script lets accelerate split its batches; `...` where that is not known.

    The batch size is that of all processes together then, and a prepared scheduler takes one step at a time
    (accelerate 1.15, data_loader.py:171, scheduler.py:76).

    Args:
        module: The module.
    """
    found = [module.constant(value) for value in _given(module)]
    if ... in found or (True in found and False in found):
        return ...
    return True in found


def _given(module: Module) -> Iterator[ast.expr]:
    """What the setting is given: as an argument, also by position, an attribute or the entry of a dict."""
    yield from (keyword.value for _, keyword in module.keywords(SPLIT))
    for names, place in BY_PLACE.items():
        yield from (call.args[place] for call in module.calls(*names) if len(call.args) > place)
    for store in module.stores(SPLIT):
        statement = module.parent_of[store]
        if is_assignment(statement):
            yield statement.value
    for text in module.texts(SPLIT):
        if (value := value_of_key(module, text)) is not None:
            yield value
