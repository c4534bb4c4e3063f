"""Where an attribute or an item that a value is made of gets another value."""

import ast
from collections.abc import Iterator

from raymigrate.codemods.to_accelerate.variables import Variables
from raymigrate.facts.values import last_name


def stores_of(variables: Variables, expression: ast.expr) -> Iterator[tuple[ast.expr, ast.AST]]:
    """The attributes and items that an expression reads, each with a place that sets or deletes it.

    Args:
        variables: The names of the module.
        expression: What is read.
    """
    module = variables.module
    for read in ast.walk(expression):
        if not isinstance(read, (ast.Attribute, ast.Subscript)):
            continue
        for node in [*module.of_type(ast.Attribute), *module.of_type(ast.Subscript)]:
            if not isinstance(node.ctx, ast.Load) and _are_same(variables, node, read):  # type: ignore[attr-defined]
                yield read, node
        for call in module.of_type(ast.Call):
            is_store = last_name(call.func) in ("setattr", "delattr") and len(call.args) > 1
            if is_store and isinstance(read, ast.Attribute) and _are_same(variables, call.args[0], read.value):
                if module.constant(call.args[1]) in (read.attr, ...):
                    yield read, call


def _are_same(variables: Variables, one: ast.AST, other: ast.AST) -> bool:
    """Whether two expressions name the same thing of the same variable."""
    if isinstance(one, ast.Name) and isinstance(other, ast.Name):
        homes = variables.of(one) or {variables.spelled(one)}
        return bool(homes & (variables.of(other) or {variables.spelled(other)}))
    if isinstance(one, ast.Attribute) and isinstance(other, ast.Attribute):
        return one.attr == other.attr and _are_same(variables, one.value, other.value)
    if isinstance(one, ast.Subscript) and isinstance(other, ast.Subscript):
        return ast.unparse(one.slice) == ast.unparse(other.slice) and _are_same(variables, one.value, other.value)
    return False
