"""Functions that go to a folder before they do anything else there: what they write to a relative path lies in it."""

import ast
from collections.abc import Iterator

from raymigrate.facts.ray_train.storage import is_absolute
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument

ENTERS = "contextlib.chdir"
DEEPEST = 3  # functions that call one another


def goes_to_folder(module: Module, function: ast.AST | None, depth: int = 0) -> bool:
    """Whether a function goes to a folder of its own choice: `os.chdir(DIRECTORY)`, the one of the driver.

    One that a condition decides on is not sure, nor is one of which nothing is known.

    Args:
        module: The module.
        function: The function.
        depth: How many functions led to it.
    """
    if not isinstance(function, ast.FunctionDef) or depth > DEEPEST:
        return False
    for call in _calls(function.body):
        if _is_move(module, call, "os.chdir") or goes_to_folder(module, module.definition(call.func), depth + 1):
            return True
    return False


def is_in_other_folder(module: Module, node: ast.AST) -> bool:
    """Whether code is inside `with contextlib.chdir(folder)`."""
    items = [item for outer in module.ancestors(node) if isinstance(outer, ast.With) for item in outer.items]
    calls = (item.context_expr for item in items)
    return any(isinstance(call, ast.Call) and _is_move(module, call, ENTERS) for call in calls)


def is_renamed_later(module: Module, path: ast.expr) -> bool:
    """Whether a file may have another name behind it: the path is relative, and the process may go to a folder later.

    Args:
        module: The module.
        path: The path as it is written to.
    """
    moves = [call for call in module.calls("os.chdir", ENTERS) if not _is_before(module, call, path)]
    return bool(moves) and not is_absolute(module, path)


def _is_before(module: Module, move: ast.Call, path: ast.expr) -> bool:
    """Whether code goes to a folder once, and before a path is used."""
    is_once = not any(isinstance(outer, (ast.For, ast.While, ast.With)) for outer in module.ancestors(move))
    function = module.function(move)
    return is_once and function in (None, module.function(path)) and module.start(move) < module.start(path)


def _calls(body: list[ast.stmt]) -> Iterator[ast.Call]:
    """The calls that are statements of a block, and of those that run whatever happens."""
    for statement in body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            yield statement.value
        elif isinstance(statement, (ast.Try, ast.With)):
            yield from _calls(statement.body)


def _is_move(module: Module, call: ast.Call, function: str) -> bool:
    path = argument(call, 0, "path") if module.qualified(call.func) == function else None
    return path is not None and bool(is_absolute(module, path))
