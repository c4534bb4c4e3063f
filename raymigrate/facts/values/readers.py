"""Where a value goes: the other way round than `facts.values`."""

import ast
from collections.abc import Iterator

from raymigrate.facts.syntax.functions import parameter_for
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import BINDS, targets_of
from raymigrate.facts.values import reaching


def readers(module: Module, node: ast.expr) -> list[ast.expr]:
    """The expressions in which a value is used: where it stands, and where names that it is assigned to are read.

    The counterpart of `values.sources`: a value that a function of this module returns is followed to the calls of
    that, one that is handed to a function to the parameter.

    Args:
        module: The module.
        node: The value.
    """
    found: list[ast.expr] = []
    waiting, seen = [node], set[ast.AST]()
    while waiting:
        current = waiting.pop()
        if current not in seen:
            seen.add(current)
            found.append(current)
            waiting.extend(_ahead(module, current))
    return found


def _ahead(module: Module, node: ast.expr) -> Iterator[ast.expr]:
    """The expressions one step ahead of a value."""
    parent = module.parent_of[node]
    if isinstance(parent, BINDS):
        for target in targets_of(parent):
            if isinstance(target, ast.Name):
                yield from _reads_of(module, target)
        if isinstance(parent, ast.NamedExpr):
            yield parent  # which is the value too
    elif isinstance(parent, ast.Return):
        function = module.function(parent)
        if isinstance(function, ast.FunctionDef):
            yield from module.calls_of(function)
    elif isinstance(call := module.parent_of.get(parent) if isinstance(parent, ast.keyword) else parent, ast.Call):
        called = module.definition(call.func)
        if isinstance(called, ast.FunctionDef) and (parameter := parameter_for(called, call, node)):
            scope = module.scope(called)
            if len(scope.bindings[parameter]) == 1:
                yield from module.uses(parameter, scope)


def _reads_of(module: Module, target: ast.Name) -> Iterator[ast.Name]:
    """The reads that may see what is assigned to a name here."""
    for use in module.uses_of(target):
        if any(binding.node is target for binding in reaching(module, use)):
            yield use
