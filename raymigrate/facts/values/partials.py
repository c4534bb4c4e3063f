"""Calls of functools.partial, which give a function arguments before it is called."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raymigrate.facts.syntax.module import Module
    from raymigrate.facts.values.behind import Source

PARTIAL = "functools.partial"


def function_of(module: Module, call: ast.Call) -> ast.expr:
    """What gets the keywords of a call: the function called, or the one that partial() is given."""
    if call.args and not isinstance(call.args[0], ast.Starred) and module.qualified(call.func) == PARTIAL:
        return call.args[0]
    return call.func


def functions_of_partials(module: Module, call: ast.Call) -> list[Source]:
    """The functions that a call carries out where partial() makes what it calls: `C` of `partial(C, a=1)(b=2)`."""
    found: list[Source] = []
    waiting, seen = list(module.origins(call.func)), set[ast.AST]()
    while waiting:
        source = waiting.pop()
        if source.node in seen or not isinstance(source.node, ast.Call):
            continue
        seen.add(source.node)
        given = function_of(source.module, source.node)
        if given is not source.node.func:
            found.append(source._replace(node=given))
            waiting += source.module.origins(given)
    return found


def partial_methods(module: Module, name: str) -> Iterator[tuple[ast.Call, ast.Attribute]]:
    """The calls of partial() with a method of a name, and the method: `partial(AutoModel.from_pretrained, ...)`."""
    for call in module.calls(PARTIAL):
        function = function_of(module, call)
        if isinstance(function, ast.Attribute) and function.attr == name:
            yield call, function
