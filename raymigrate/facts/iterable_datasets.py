"""Which expressions are datasets that give their rows one after the other, and so have no index to share out."""

from __future__ import annotations

import ast

from raymigrate.facts.module import Module
from raymigrate.facts.values import argument

MAX_STEPS = 50  # of a chain of methods, or of names that lead in a circle
BASES = ("torch.utils.data.IterableDataset", "torch.utils.data.dataset.IterableDataset", "datasets.IterableDataset")
MAKERS = (
    *("datasets.IterableDataset", "datasets.iterable_dataset.IterableDataset", "webdataset.WebDataset"),
    *("webdataset.DataPipeline", "streaming.StreamingDataset", "torch.utils.data.ChainDataset"),
)
LOADS = ("datasets.load_dataset", "datasets.load.load_dataset")


def gives_rows_in_turn(module: Module, node: ast.expr, depth: int = 0) -> bool:
    """Whether an expression may be an iterable or streaming dataset, as `load_dataset(..., streaming=True)` is.

    Args:
        module: The module of the expression.
        node: The expression.
        depth: How many steps led to it.
    """
    if depth > MAX_STEPS:
        return False
    return any(_is_made_so(source.module, source.node, depth) for source in module.origins(node))


def _is_made_so(module: Module, node: ast.expr, depth: int) -> bool:
    inner = node.func if isinstance(node, ast.Call) else node
    if isinstance(node, ast.Call):
        name = module.qualified(inner) or ""
        if name in LOADS:
            streaming = argument(node, len(node.args), "streaming")
            return streaming is not None and module.constant(streaming) is not False
        if name.startswith(MAKERS) or _makes_own(module, node):
            return True
        if isinstance(inner, ast.Attribute) and inner.attr == "to_iterable_dataset":
            return True
    is_chain = isinstance(inner, (ast.Attribute, ast.Subscript))
    return is_chain and gives_rows_in_turn(module, inner.value, depth + 1)  # type: ignore[attr-defined]


def _makes_own(module: Module, call: ast.Call) -> bool:
    """Whether a call makes an object of a class of the module that is made from an iterable dataset."""
    definition = module.definition(call.func)
    if not isinstance(definition, ast.ClassDef):
        return False
    bases = [module.qualified(base) or "" for base in definition.bases]
    inner = [module.definition(base) for base in definition.bases]
    names = [module.qualified(b) or "" for d in inner if isinstance(d, ast.ClassDef) for b in d.bases]
    return any(name in BASES for name in (*bases, *names))
