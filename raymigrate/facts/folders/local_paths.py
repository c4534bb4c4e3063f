"""Code that runs only where a path was found on the local disk: `if os.path.exists(path):`, `assert path.exists()`."""

import ast
from collections.abc import Iterator

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import LEAVES, blocks
from raymigrate.facts.values import is_none

FUNCTIONS = frozenset(f"os.path.{name}" for name in ("exists", "lexists", "isdir", "isfile"))
METHODS = frozenset(["exists", "is_dir", "is_file"])  # of a pathlib.Path
MAKES_PATH = frozenset(
    ["pathlib.Path", "os.path.abspath", "os.path.expanduser", "os.path.realpath", "str", "os.fspath"]
)


def is_on_disk(module: Module, path: ast.expr) -> bool:
    """Whether a path is used only where it was found on the disk, under whatever name it has there.

    Args:
        module: The module.
        path: The path.
    """
    wanted = _stands_for(module, path)
    return any(not wanted.isdisjoint(_stands_for(module, found)) for found in _found(module, path))


def _stands_for(module: Module, path: ast.expr) -> set[ast.AST | str]:
    """What a path is, so that it can be told from others: where it comes from, and how it is written."""
    ends = [source for source in module.origins(path) if not is_none(source.node)]
    origins = {source.module.definition(source.node) or source.node for source in ends}
    return {*origins, ast.unparse(path)} if isinstance(path, (ast.Name, ast.Attribute)) else {*origins}


def _found(module: Module, node: ast.AST) -> Iterator[ast.expr]:
    """The paths that were found on the disk where code runs, or where the function around it is defined."""
    child: ast.AST = node
    for parent in module.ancestors(node):
        if isinstance(parent, (ast.If, ast.IfExp)) and child is not parent.test:
            of_body = child is parent.body if isinstance(parent, ast.IfExp) else child in parent.body
            yield from _asked(module, parent.test, holds=of_body)
        for block in blocks(parent):
            if child in block:
                for step in block[: block.index(child)]:
                    yield from _left_by(module, step)
        child = parent


def _left_by(module: Module, step: ast.AST) -> Iterator[ast.expr]:
    """The paths without which a statement does not let code go on: `if not path.exists(): raise`, `assert`."""
    if isinstance(step, ast.If) and isinstance(step.body[-1], LEAVES):
        yield from _asked(module, step.test, holds=False)
    elif isinstance(step, ast.Assert):
        yield from _asked(module, step.test, holds=True)


def _asked(module: Module, test: ast.expr, *, holds: bool) -> Iterator[ast.expr]:
    """The paths that are on the disk if a condition holds, or if it does not."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            yield from _asked(module, inner, holds=not holds)
        case ast.BoolOp(op=operator, values=values) if isinstance(operator, ast.And) is holds:
            for value in values:
                yield from _asked(module, value, holds=holds)
        case ast.Call(args=[path, *_]) if holds and module.qualified(test.func) in FUNCTIONS:
            yield _plain(module, path)
        case ast.Call(func=ast.Attribute(value=path, attr=method), args=[]) if holds and method in METHODS:
            yield _plain(module, path)


def _plain(module: Module, path: ast.expr) -> ast.expr:
    """A path without what only makes a Path or text of it."""
    while isinstance(path, ast.Call) and path.args:
        named = module.qualified(path.func) or (path.func.id if isinstance(path.func, ast.Name) else "")
        if named not in MAKES_PATH:
            break
        path = path.args[0]
    return path
