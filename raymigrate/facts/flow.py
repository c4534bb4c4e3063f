"""Where values come from: through names, the parameters of functions, and what functions return."""

import ast
from collections.abc import Iterator

from raymigrate.facts.module import Module
from raymigrate.facts.trainers import is_generator_or_async, returns


def sources(module: Module, node: ast.expr) -> list[ast.expr]:
    """The expressions that a value can come from; what cannot be followed stands for itself.

    A name leads to the one expression assigned to it, a parameter to the arguments of every call in this module, and
    a call of a function of this module to what that returns.

    Args:
        module: The module.
        node: The value.
    """
    found: list[ast.expr] = []
    waiting, seen = [node], set[ast.AST]()
    while waiting:
        current = module.value(waiting.pop())
        if current in seen:
            continue
        seen.add(current)
        further = list(_behind(module, current))
        waiting.extend(further)
        if not further:
            found.append(current)
    return found


def _behind(module: Module, node: ast.expr) -> Iterator[ast.expr]:
    """The expressions one step behind a value; none where the step cannot be made for sure."""
    definition = module.definition(node)
    if isinstance(definition, ast.arg):
        yield from _arguments(module, definition)
    elif isinstance(node, ast.Call) and isinstance(function := module.definition(node.func), ast.FunctionDef):
        ends = returns(module, function)
        values = [end.value for end in ends if end.value is not None]
        if len(values) == len(ends) and not function.decorator_list and not is_generator_or_async(module, function):
            yield from values


def _arguments(module: Module, parameter: ast.arg) -> list[ast.expr]:
    """What the calls of a function give for one of its parameters; empty unless that is known of every call."""
    function = module.parent_of[module.parent_of[parameter]]
    if not isinstance(function, ast.FunctionDef) or isinstance(module.parent_of[function], ast.ClassDef):
        return []
    scope = module.scope_of[function].find(function.name)
    positional = [*function.args.posonlyargs, *function.args.args]
    if (
        scope is None
        or len(scope.bindings[function.name]) != 1
        or parameter not in positional + function.args.kwonlyargs
    ):
        return []
    given: list[ast.expr] = []
    for use in module.uses(function.name, scope):
        call = module.parent_of[use]
        if not isinstance(call, ast.Call) or call.func is not use:
            return []
        if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
            return []
        by_place = dict(zip([p.arg for p in positional], call.args, strict=False))
        by_name = {keyword.arg: keyword.value for keyword in call.keywords}
        value = by_place.get(parameter.arg) or by_name.get(parameter.arg)
        if value is None:
            return []
        given.append(value)
    return given
