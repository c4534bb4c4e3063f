"""Whether a value may be None, for which a library may take another one."""

from __future__ import annotations

import ast

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, class_named, constant, is_none


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


def is_none_in_some_case(module: Module, node: ast.expr) -> bool:
    """Whether a value is None on one of the ways to it, or a parameter that is declared so: `Optional[dict]`."""
    return any(is_none(source.node) or _is_optional(source) for source in module.origins(node))


def _is_optional(source: Source) -> bool:
    parameter = source.module.definition(source.node)
    annotation = parameter.annotation if isinstance(parameter, ast.arg) else None
    if isinstance(annotation, ast.BinOp):
        return is_none(annotation.left) or is_none(annotation.right)
    named = annotation.value if isinstance(annotation, ast.Subscript) else None
    return named is not None and source.module.qualified(named) == "typing.Optional"


def may_give_none(node: ast.AST) -> bool:
    """Whether a call asks for what need not be there: `options.get("config")`, `getattr(args, "config", None)`."""
    match node:
        case ast.Call(func=ast.Attribute(attr="get"), args=[_, *default], keywords=[]):
            return not default or is_none(default[0])
        case ast.Call(func=ast.Name(id="getattr"), args=[_, _, default], keywords=[]):
            return is_none(default)
    return False


def _makes_object(module: Module, node: ast.AST) -> bool:
    """Whether an expression calls a class."""
    if not isinstance(node, ast.Call):
        return False
    name = module.qualified(node.func) or ""
    return class_named(module, node.func) is not None or name.rpartition(".")[2][:1].isupper()
