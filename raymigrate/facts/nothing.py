"""Whether an argument may be None, for which a library takes another value than its default."""

from __future__ import annotations

import ast

from raymigrate.facts.module import Module
from raymigrate.facts.values import class_named, constant


def may_be_none(module: Module, value: ast.expr) -> bool:
    """Whether an expression may be None.

    An option without a default is None unless it is given. What is not seen, as the value of a caller or of a
    configuration, may be None as well.

    Args:
        module: The module.
        value: The expression.
    """
    sources = module.origins(value)
    for source in sources:
        known = constant(source.module, source.node)
        if known is None or (known is ... and not _makes_object(source.module, source.node)):
            return True
    return not sources


def _makes_object(module: Module, node: ast.AST) -> bool:
    """Whether an expression calls a class."""
    if not isinstance(node, ast.Call):
        return False
    name = module.qualified(node.func) or ""
    return class_named(module, node.func) is not None or name.rpartition(".")[2][:1].isupper()
