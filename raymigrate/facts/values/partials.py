"""Calls of functools.partial, which give a function arguments before it is called."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raymigrate.facts.syntax.module import Module

PARTIAL = "functools.partial"


def function_of(module: Module, call: ast.Call) -> ast.expr:
    """What gets the keywords of a call: the function called, or the one that partial() is given."""
    if call.args and not isinstance(call.args[0], ast.Starred) and module.qualified(call.func) == PARTIAL:
        return call.args[0]
    return call.func


def partial_methods(module: Module, name: str) -> Iterator[tuple[ast.Call, ast.Attribute]]:
    """The calls of partial() with a method of a name, and the method: `partial(AutoModel.from_pretrained, ...)`."""
    for call in module.calls(PARTIAL):
        function = function_of(module, call)
        if isinstance(function, ast.Attribute) and function.attr == name:
            yield call, function
