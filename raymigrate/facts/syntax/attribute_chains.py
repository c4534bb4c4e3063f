"""The parts of dotted names in code: `a.b.c`."""

import ast
from typing import TypeGuard


def root_of_chain(node: ast.expr) -> ast.Name | None:
    """The name that a dotted name begins with; None for any other expression."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node if isinstance(node, ast.Name) else None


def names_of_chain(node: ast.expr) -> list[str]:
    """The parts of a dotted name; of any other expression, the attributes at its end."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [*([node.id] if isinstance(node, ast.Name) else ()), *reversed(parts)]


def is_of_self(node: ast.AST) -> TypeGuard[ast.Attribute]:
    """Whether code is an attribute of the object whose method it stands in: `self.model`."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
