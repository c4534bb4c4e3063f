"""Functions that import all they need themselves, as one that is sent somewhere by its source does."""

import ast

from raymigrate.facts.syntax.import_places import needs_at_once
from raymigrate.facts.syntax.module import Module


def import_place(module: Module, owner: ast.AST) -> ast.stmt | None:
    """The import beside which that of the Accelerator stands; None: with those of the module.

    Args:
        module: The module.
        owner: The function in which the Accelerator is made, or the module.
    """
    if not isinstance(owner, ast.FunctionDef) or needs_at_once(module, "torch"):
        return None
    return next((statement for statement in owner.body if _is_of_torch(statement)), None)


def _is_of_torch(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.ImportFrom):
        return (statement.module or "").partition(".")[0] == "torch"
    return isinstance(statement, ast.Import) and any(a.name.partition(".")[0] == "torch" for a in statement.names)
