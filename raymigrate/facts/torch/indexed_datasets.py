"""Which expressions are datasets with an index, whose rows a loader can shuffle and share out."""

import ast

from raymigrate.facts.hugging_face.datasets import is_hf_dataset
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.torch.iterable_datasets import gives_rows_in_turn
from raymigrate.facts.values import Source, class_named, free_name

TENSORS = ("torch.utils.data.TensorDataset", "torch.utils.data.dataset.TensorDataset")


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
            return "__getitem__" in home.scope(made).bindings and not gives_rows_in_turn(module, node)
        if free_name(module, node.func) == "list" or module.qualified(node.func) in TENSORS:
            return True
    return is_hf_dataset(module, node) and not gives_rows_in_turn(module, node)
