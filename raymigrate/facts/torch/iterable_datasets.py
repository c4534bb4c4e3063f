"""Which expressions are datasets that give their rows one after the other, and so have no index to share out."""

import ast

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, called_name, is_method_call

BASES = ("torch.utils.data.IterableDataset", "torch.utils.data.dataset.IterableDataset", "datasets.IterableDataset")
MAKERS = (
    *("datasets.IterableDataset", "datasets.iterable_dataset.IterableDataset", "webdataset.WebDataset"),
    *("webdataset.DataPipeline", "streaming.StreamingDataset", "torch.utils.data.ChainDataset"),
)
LOADS = ("datasets.load_dataset", "datasets.load.load_dataset")


def gives_rows_in_turn(module: Module, node: ast.expr) -> bool:
    """Whether an expression may be an iterable or streaming dataset, as `load_dataset(..., streaming=True)` is.

    Each expression that it may come from is looked at once: names may lead in a circle, and `data = data.map(...)`
    leads to every binding of the name.
    """
    waiting, seen = [(module, node)], set[ast.AST]()
    while waiting:
        where, expression = waiting.pop()
        for source in where.origins(expression):
            if source.node in seen:
                continue
            seen.add(source.node)
            if _makes_iterable(source.module, source.node):
                return True
            chain = source.node.func if isinstance(source.node, ast.Call) else source.node
            if isinstance(chain, (ast.Attribute, ast.Subscript)):
                waiting.append((source.module, chain.value))
    return False


def _makes_iterable(module: Module, node: ast.AST) -> bool:
    """Whether an expression is a call that makes such a dataset."""
    if not isinstance(node, ast.Call):
        return False
    name = called_name(module, node)
    if name in LOADS:
        streaming = argument(node, len(node.args), "streaming")
        return streaming is not None and module.constant(streaming) is not False
    is_converted = is_method_call(node, "to_iterable_dataset")
    return is_converted or name.startswith(MAKERS) or _makes_own(module, node)


def _makes_own(module: Module, call: ast.Call) -> bool:
    """Whether a call makes an object of a class of the module that is made from an iterable dataset."""
    definition = module.definition(call.func)
    if not isinstance(definition, ast.ClassDef):
        return False
    bases = [module.qualified(base) or "" for base in definition.bases]
    inner = [module.definition(base) for base in definition.bases]
    names = [module.qualified(b) or "" for d in inner if isinstance(d, ast.ClassDef) for b in d.bases]
    return any(name in BASES for name in (*bases, *names))
