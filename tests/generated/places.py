"""What the moves ask of the syntax trees of a program: places for edits, names, and what a definition needs."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator
from functools import partial
from random import Random

Files = dict[str, ast.Module]

BLOCKS = (ast.Module, ast.FunctionDef, ast.If)
IMPORTS = (ast.Import, ast.ImportFrom)
DEFINITIONS = (ast.FunctionDef, ast.ClassDef)


class Slot:
    """A place for an expression: an argument of a call, or a value of a dict."""

    def __init__(self, name: str, value: ast.expr, put: Callable[[ast.expr], None]) -> None:
        self.name, self.value, self.put = name, value, put


def slots(node: ast.AST) -> Iterator[Slot]:
    for each in at_once(node) if isinstance(node, ast.stmt) else ast.walk(node):
        if isinstance(each, ast.Call):
            for keyword in each.keywords:
                if keyword.arg is not None:
                    yield Slot(keyword.arg, keyword.value, partial(setattr, keyword, "value"))
        if isinstance(each, ast.Dict):
            for index, (key, value) in enumerate(zip(each.keys, each.values, strict=True)):
                if isinstance(key, ast.Constant) and str(key.value).isidentifier():
                    yield Slot(str(key.value), value, partial(each.values.__setitem__, index))


def place_of_argument(random: Random, files: Files) -> tuple[list[ast.stmt], int, Slot] | None:
    """An argument of a simple statement, and where that statement stands."""
    tree = random.choice(list(files.values()))
    found = [
        (block, index, slot)
        for block in blocks(tree)
        for index, statement in enumerate(block)
        if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return))
        for slot in slots(statement)
        if slot.value is not None
    ]
    return random.choice(found) if found else None


def blocks(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    return (node.body for node in ast.walk(tree) if isinstance(node, BLOCKS))


def at_once(node: ast.AST) -> Iterator[ast.AST]:
    """What is evaluated when the statement is, and once: nothing of a function, a lambda or a loop in it."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(
            child, (*DEFINITIONS, ast.Lambda, ast.For, ast.If, ast.IfExp, ast.comprehension, ast.ListComp)
        ):
            yield from at_once(child)


def bound_by(statement: ast.stmt) -> set[str]:
    if isinstance(statement, DEFINITIONS):
        return {statement.name}
    if isinstance(statement, IMPORTS):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return names.union(*(bound_by(node) for node in ast.walk(statement) if isinstance(node, IMPORTS)))


def times_bound(tree: ast.Module, name: str) -> int:
    """How often a name is bound in a file, anywhere."""
    bound = [each for node in ast.walk(tree) if isinstance(node, (*IMPORTS, *DEFINITIONS)) for each in bound_by(node)]
    bound += [node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)]
    bound += [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return bound.count(name)


def names_read(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def outside_of_body(function: ast.stmt) -> set[str]:
    assert isinstance(function, ast.FunctionDef)
    return {name for part in (function.args, *function.decorator_list) for name in names_read(part)}


def after_imports(tree: ast.Module) -> int:
    """Where the first statement that is no import stands."""
    for index, statement in enumerate(tree.body):
        if not isinstance(statement, IMPORTS):
            return index
    return len(tree.body)


def with_what_it_reads(tree: ast.Module, node: ast.stmt) -> list[ast.stmt] | None:
    """A definition and all of its module that it reads, as far as that can move."""
    moved, waiting = list[ast.stmt](), [node]
    while waiting:
        statement = waiting.pop()
        if statement in moved:
            continue
        simple = isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
        if not (simple or isinstance(statement, (*IMPORTS, *DEFINITIONS))):
            return None
        moved.append(statement)
        if not isinstance(statement, IMPORTS):
            names = names_read(statement) - set(dir(builtins))
            waiting += [other for other in tree.body if other is not statement and bound_by(other) & names]
    return moved


def is_taken(files: Files, file: str, name: str) -> bool:
    """Whether another file imports a name from a file."""
    imports = [node for tree in files.values() for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return any(f"{node.module}.py" == file and name in {alias.name for alias in node.names} for node in imports)


def free_name(files: Files, name: str) -> str:
    taken = {*files, *(name for tree in files.values() for name in names_in(tree))}
    return next(f"{name}_{n}" for n in range(1, 99) if f"{name}_{n}" not in taken and f"{name}_{n}.py" not in taken)


def names_in(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        yield from (value for _, value in ast.iter_fields(node) if isinstance(value, str))


def loaded(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def assignment(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value, lineno=0)


def replace_name(tree: ast.Module, old: ast.expr, new: ast.expr) -> None:
    class Replaces(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return new if node is old else node

    Replaces().visit(tree)
