"""Whose parameters an optimizer trains, also where a function of another file makes it of a model that it is given."""

import ast
from collections.abc import Iterator

from raymigrate.codemods.to_accelerate.variables import Variable, Variables
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import all_arguments

GIVES = ("parameters", "named_parameters")
DEPTH = 4  # names and functions that lead to one another


def trained_by(variables: Variables, optimizer: Variable, maker: ast.expr) -> Iterator[ast.expr]:
    """The objects whose parameters an optimizer is given, as the module names them.

    Args:
        variables: The variables of the module.
        optimizer: The variable that holds the optimizer.
        maker: What makes it, in this file or in another one.
    """
    module, home = variables.module, variables.home_of(maker)
    given = all_arguments(maker) if isinstance(maker, ast.Call) else []
    if home is module:
        for value in given:
            if value in module.scope_of:
                yield from parameters_in(module, value)
        return
    for value in given:
        for root in parameters_in(home, value):
            yield from _given_for(variables, optimizer, home, root)
        for part in ast.walk(value):  # make(model.parameters())
            for here in _given_for(variables, optimizer, home, part):
                yield from parameters_in(module, here)


def parameters_in(module: Module, node: ast.expr, depth: int = DEPTH) -> Iterator[ast.expr]:
    """The objects whose `parameters()` an expression holds, followed through names and functions."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            if part.func.attr in GIVES:
                yield _root(part.func.value)
                continue
        if not depth or not isinstance(part, (ast.Name, ast.Call)):
            continue
        for source in module.origins(part):
            if source.module is module and source.node is not part:
                yield from parameters_in(module, source.node, depth - 1)


def _given_for(variables: Variables, optimizer: Variable, home: Module, node: ast.AST) -> Iterator[ast.expr]:
    """What the calls that give a variable its value hand over for a parameter of a function of another file."""
    parameter = home.definition(node)
    function = home.function(parameter) if isinstance(parameter, ast.arg) else None
    for binding in variables.bindings(optimizer) if isinstance(function, ast.FunctionDef) else ():
        call = variables.module.assigned(binding)
        there = variables.module.elsewhere(call.func) if isinstance(call, ast.Call) else None
        if there is not None and there.node is function and isinstance(parameter, ast.arg):
            given = variables.argument_for(call, function, parameter.arg)  # type: ignore[arg-type]
            yield from [given] if given is not None else []


def _root(node: ast.expr) -> ast.expr:
    """The object at the start of a chain of attributes: `model` of `model.encoder.layer[0]`."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node
