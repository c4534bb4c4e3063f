"""Which expressions are datasets of the datasets library, and no Ray Datasets."""

import ast

from raymigrate.facts.syntax.module import Module

MAX_STEPS = 50  # of a chain of methods, or of names that lead in a circle


def is_hf_dataset(module: Module, node: ast.expr, depth: int = 0) -> bool:
    """Whether an expression starts at the datasets library, wherever that is: `load_dataset(...)["train"].map(...)`."""
    if depth > MAX_STEPS:
        return False
    sources = module.origins(node)
    return all(_starts_there(source.module, source.node, depth) for source in sources)


def _starts_there(module: Module, node: ast.expr, depth: int) -> bool:
    inner = node.func if isinstance(node, ast.Call) else node
    if (module.qualified(inner) or "").startswith("datasets."):
        return True
    return isinstance(inner, (ast.Attribute, ast.Subscript)) and is_hf_dataset(module, inner.value, depth + 1)
