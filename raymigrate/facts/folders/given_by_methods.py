"""What the methods of a class give the parameter of another one: `self._write("losses.txt", logs)`."""

import ast

from raymigrate.facts.syntax.functions import by_position, is_static
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, argument, has_unpacking

OWN = ("self", "cls")


def given_by_methods(module: Module, parameter: Source, *, private: bool = False) -> list[tuple[Module, ast.expr]]:
    """What the calls in its file give a parameter of a method, each with its module; none where one is not seen.

    Only the methods of a class count: code that has an object may call it with something else.

    Args:
        module: The module.
        parameter: The parameter, or a read of it.
        private: Whether only methods count that nothing but their class calls, as their names say.
    """
    read = parameter.node
    bound = read if isinstance(read, ast.arg) else module.definition(read) if parameter.module is module else None
    if not isinstance(bound, ast.arg):
        return []
    function = module.parent_of[module.parent_of[bound]]
    if not isinstance(function, ast.FunctionDef) or not isinstance(owner := module.parent_of[function], ast.ClassDef):
        return []
    if private and not function.name.startswith("_"):
        return []
    positional = by_position(function)[0 if is_static(function) else 1 :]
    names = (*OWN, owner.name) if is_static(function) else OWN  # by the class any other gets its object too
    found = list[tuple[Module, ast.expr]]()
    for call, method in module.method_calls(function.name):
        is_own = isinstance(method.value, ast.Name) and method.value.id in names
        place = positional.index(bound) if bound in positional else len(call.args)
        given = None if has_unpacking(call) else argument(call, place, bound.arg)
        if not is_own or not module.inside(call, owner) or given is None:
            return []
        found.append((module, given))
    return found
