"""Which expressions are datasets with an index, whose rows a loader can shuffle and share out."""

import ast

from raymigrate.facts.hugging_face.datasets import is_hf_dataset
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.torch.iterable_datasets import gives_rows_in_turn
from raymigrate.facts.values import Source, class_named, free_name
from raymigrate.facts.values.members import method_of

OF_TORCH = ("TensorDataset", "Subset", "ConcatDataset")
WITH_INDEX = tuple(f"torch.utils.data.{place}{name}" for place in ("", "dataset.") for name in OF_TORCH)


def has_index(module: Module, node: ast.expr) -> bool:
    """Whether an expression is seen to be such a dataset on every way by which it gets there.

    Args:
        module: The module.
        node: The expression: a list, a dataset of the datasets library that is not streamed, an object of a class of
            the project with `__getitem__()`.
    """
    found = module.origins(node)
    return bool(found) and all(map(_has_index, found))


def _has_index(source: Source) -> bool:
    module, node = source.module, source.node
    if isinstance(node, (ast.List, ast.ListComp)):
        return True
    if isinstance(node, ast.Call):
        own = class_named(module, node.func)
        if own is not None:
            home, made = own
            return bool(method_of(home, made, "__getitem__")) and not gives_rows_in_turn(module, node)
        if free_name(module, node.func) in ("list", "sorted") or module.qualified(node.func) in WITH_INDEX:
            return True
    return is_hf_dataset(module, node) and not gives_rows_in_turn(module, node)
