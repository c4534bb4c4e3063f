"""Which expressions name a type, and are nothing at run time."""

import ast

from raymigrate.facts.module import Module

# What stands between an annotation and a class in it: `Optional[X]`, `Dict[str, X]`, `Callable[[X], Y]`, `X | None`.
BETWEEN = (ast.Subscript, ast.BinOp, ast.Tuple, ast.List)


def in_annotation(module: Module, node: ast.expr) -> bool:
    """Whether a class is named in the annotation of a parameter, a variable or a returned value."""
    part: ast.AST = node
    for outer in module.ancestors(node):
        if part in (getattr(outer, "annotation", None), getattr(outer, "returns", None)):
            return True
        if not isinstance(outer, BETWEEN):
            return False
        part = outer
    return False
