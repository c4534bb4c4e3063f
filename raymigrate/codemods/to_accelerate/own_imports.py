"""Functions that import all they need themselves, as one that is sent somewhere by its source does."""

import ast

from raymigrate.facts.syntax.functions import is_static
from raymigrate.facts.syntax.import_places import needs_at_once
from raymigrate.facts.syntax.module import Module

CLASS = "Accelerator"


def import_place(module: Module, owner: ast.AST) -> ast.stmt | None:
    """The import beside which that of the Accelerator stands; None: with those of the module.

    Args:
        module: The module.
        owner: The function in which the Accelerator is made, or the module.
    """
    if not isinstance(owner, ast.FunctionDef) or needs_at_once(module, "torch"):
        return None
    return next((statement for statement in owner.body if _is_of_torch(statement)), None)


def is_annotated(module: Module, function: ast.FunctionDef, owner: ast.AST) -> bool:
    """Whether a function says of what class its parameters are, and can see that of the Accelerator.

    Args:
        module: The module.
        function: The function.
        owner: The function in which the Accelerator is made, or the module.
    """
    given = function.args
    parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    if parameters and isinstance(module.parent_of[function], ast.ClassDef) and not is_static(function):
        del parameters[0]
    is_other = any(CLASS in scope.bindings for scope in module.scopes)  # a class of the script's own has the name
    is_seen = import_place(module, owner) is None and not is_other
    return is_seen and bool(parameters) and all(each.annotation is not None for each in parameters)


def _is_of_torch(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.ImportFrom):
        return (statement.module or "").partition(".")[0] == "torch"
    return isinstance(statement, ast.Import) and any(a.name.partition(".")[0] == "torch" for a in statement.names)
