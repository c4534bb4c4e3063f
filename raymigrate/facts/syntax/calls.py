"""Calls by what is around them, and by what they are made on."""

import ast
from collections.abc import Iterable

from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import sources

Grouped = dict[ast.AST, list[ast.Call]]


def calls_in(module: Module, container: ast.AST | None, *names: str) -> list[ast.Call]:
    """The calls of objects with these qualified names that stand in a node, in source order; none where it is None."""
    return _by_container(module, *names).get(container, []) if container is not None else []


@kept
def _by_container(module: Module, *names: str) -> Grouped:
    return grouped((call, module.ancestors(call)) for call in module.calls(*names))


def calls_on(module: Module, made: ast.expr, *methods: str) -> list[ast.Call]:
    """The calls of these methods of an object, through every way to it in the module, in source order."""
    return _by_object(module, *methods).get(made, [])


@kept
def _by_object(module: Module, *methods: str) -> Grouped:
    called = module.method_calls(*methods)
    return grouped((call, dict.fromkeys(sources(module, method.value))) for call, method in called)


def grouped(calls: Iterable[tuple[ast.Call, Iterable[ast.AST]]]) -> Grouped:
    """Calls by each of the nodes that belong to them, in their order."""
    found: Grouped = {}
    for call, keys in calls:
        for key in keys:
            found.setdefault(key, []).append(call)
    return found
