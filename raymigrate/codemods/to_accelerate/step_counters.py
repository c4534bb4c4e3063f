"""Names that count the steps of a training: every process makes as many, so that they are equal in all."""

from __future__ import annotations

import ast

from raymigrate.facts.syntax.module import Module


def counts_steps(module: Module, binding: ast.AST) -> bool:
    """Whether a name gets a constant, or one more than before.

    Args:
        module: The module.
        binding: Where the name is bound.
    """
    statement = module.parent_of.get(binding)
    if isinstance(statement, ast.AugAssign):
        return isinstance(statement.value, ast.Constant)
    value = module.assigned(binding)
    if isinstance(value, ast.BinOp) and isinstance(binding, ast.Name):  # step = step + 1
        names = {side.id for side in (value.left, value.right) if isinstance(side, ast.Name)}
        return names == {binding.id} and ast.Constant in (type(value.left), type(value.right))
    return isinstance(value, ast.Constant)
