"""Puts other code into the functions of modules that are imported already, and tells which of it runs.

A process that has imported the rules and their tests takes seconds to start. One forked from it takes none: a function
is given the code that it would have had in a changed file, wherever it was imported to by then.
"""

from __future__ import annotations

import ast
import builtins
import functools
import gc
from collections.abc import Iterator
from inspect import CO_OPTIMIZED
from types import CodeType, FunctionType

HIT = "__hit__"  # what a marked statement calls; it stands among the builtins
Functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def put_in(file: str, before: str, after: ast.Module | str) -> bool:
    """Gives the functions of a module the code of a changed file; False where not all of it could be put in.

    Args:
        file: The module's file, as it was imported.
        before: What stood in it then.
        after: What stands in it now.
    """
    was, becomes = (compile(each, file, "exec", dont_inherit=True) for each in (before, after))
    pairs = list(_changed(was, becomes))
    done = 0
    objects = _objects()
    alive = [each for each in objects if isinstance(each, FunctionType) and each.__code__.co_filename == file]
    for was, becomes in pairs:
        functions = [function for function in alive if function.__code__ == was]
        if functions and was.co_freevars == becomes.co_freevars:
            done += 1
            for function in functions:
                function.__code__ = becomes
    for each in objects:  # what they answered while tests were collected
        if isinstance(each, functools._lru_cache_wrapper) and getattr(each, "__module__", "").startswith("raymigrate"):
            each.cache_clear()
    return 0 < done == len(pairs)


def _objects() -> list[object]:
    """All that the collector knows; what is frozen, as all that was imported is before tests run, it does not name."""
    is_frozen = gc.get_freeze_count() > 0
    gc.unfreeze()
    objects = gc.get_objects()
    if is_frozen:
        gc.freeze()
    return objects


def _changed(before: CodeType, after: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """The outermost code that differs; of a module or a class that does, the module or class itself."""
    inner, others = _inner(before), _inner(after)
    if before.co_flags & CO_OPTIMIZED or _own(before) != _own(after) or len(inner) != len(others):
        if _meaning(before) != _meaning(after):
            yield before, after
        return
    for was, becomes in zip(inner, others, strict=True):
        yield from _changed(was, becomes)


def _inner(code: CodeType) -> list[CodeType]:
    return [value for value in code.co_consts if isinstance(value, CodeType)]


def _own(code: CodeType) -> tuple[object, ...]:
    """What code does but for the functions in it, wherever its lines stand."""
    values = [None if isinstance(value, CodeType) else (type(value), value) for value in code.co_consts]
    return code.co_name, code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, *values


def _meaning(code: CodeType) -> tuple[object, ...]:
    return *_own(code), *map(_meaning, _inner(code))


def marked(text: str, places: dict[int, int]) -> ast.Module:
    """A module in which some statements say that they run.

    What stands outside every function runs at import. In its place speak those functions that read a name bound there,
    or all of the module where none does.

    Args:
        text: The module.
        places: The line of each statement, by the number that it says.
    """
    tree = ast.parse(text)
    marks: list[tuple[list[ast.stmt], ast.stmt, int]] = []
    for number, line in places.items():
        marks += [(*where, number) for where in _places(tree, line)]
    for body, statement, number in marks:
        body.insert(body.index(statement), _mark(number))
    return ast.fix_missing_locations(tree)


def _mark(number: int) -> ast.Expr:
    return ast.Expr(ast.Call(ast.Name(HIT, ast.Load()), [ast.Constant(number)], []))


def _places(tree: ast.Module, line: int) -> Iterator[tuple[list[ast.stmt], ast.stmt]]:
    found: tuple[list[ast.stmt], ast.stmt] | None = None
    owner: ast.AST = tree
    outermost = tree.body[0]
    inside = False
    while True:
        blocks = [body for body in _blocks(owner) for each in body if _first(each) <= line <= (each.end_lineno or 0)]
        if not blocks:
            break
        body = blocks[-1]
        statement = next(each for each in body if _first(each) <= line <= (each.end_lineno or 0))
        outermost = statement if owner is tree else outermost
        inside = inside or isinstance(owner, Functions)
        found, owner = (body, statement), statement
        if isinstance(statement, Functions) and line < statement.body[0].lineno:
            break
    if found is not None and inside:
        yield found
        return
    functions = [each for each in ast.walk(tree) if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))]
    names = {node.id for node in ast.walk(outermost) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    if found is not None and isinstance(found[1], Functions):
        readers = [each for each in functions if each is found[1]]
    else:
        readers = [each for each in functions if names & {n.id for n in ast.walk(each) if isinstance(n, ast.Name)}]
    for function in readers or functions:
        yield function.body, function.body[0]


def _first(statement: ast.stmt) -> int:
    return min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", ()))])


def _blocks(owner: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of statements right in a node, those of its handlers and cases too."""
    for _, value in ast.iter_fields(owner):
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
            yield value
        elif isinstance(value, list) and value and isinstance(value[0], (ast.ExceptHandler, ast.match_case)):
            for each in value:
                yield from _blocks(each)


class Hits:
    """What marked statements have said since it was asked last."""

    def __init__(self) -> None:
        self._numbers: set[int] = set()
        setattr(builtins, HIT, self._numbers.add)

    def taken(self) -> list[int]:
        """The numbers, which are forgotten then."""
        numbers = sorted(self._numbers)
        self._numbers.clear()
        return numbers
