"""Trainers that a function of the file makes for a Tuner: `Tuner(build_trainer(), ...)`."""

import ast
from dataclasses import dataclass

from raymigrate.facts.syntax.functions import is_generator_or_async, is_static, returns
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import methods, names_of, reads


@dataclass(frozen=True)
class Built:
    """A trainer that a function makes.

    Args:
        function: The function, or method.
        call: Its one call.
        end: Its one return statement.
        made: The construction of the trainer.
    """

    function: ast.FunctionDef
    call: ast.Call
    end: ast.Return
    made: ast.Call


def built(module: Module, node: ast.expr | None) -> Built | None:
    """The trainer that a function makes for one place alone, at its end; None where it is anything else.

    Args:
        module: The module.
        node: What a Tuner is given.
    """
    call = module.value(node) if node is not None else None
    function = _called(module, call) if isinstance(call, ast.Call) else None
    if function is None or not isinstance(call, ast.Call) or not _is_for(module, function, call):
        return None
    end = function.body[-1]
    if not isinstance(end, ast.Return) or returns(module, function) != [end] or end.value is None:
        return None
    made = module.value(end.value)
    if not isinstance(made, ast.Call) or module.function(made) is not function:
        return None
    names = names_of(module, end.value)
    is_kept = len(names) > 1 or any(reads(module, name) != [name] for name in names)
    return None if is_kept else Built(function, call, end, made)


def _called(module: Module, call: ast.Call) -> ast.FunctionDef | None:
    """The function, or the one method, that a call runs."""
    if isinstance(call.func, ast.Attribute):
        found = methods(module, call.func)
        return found[0] if len(found) == 1 else None
    function = module.definition(call.func)
    return function if isinstance(function, ast.FunctionDef) else None


def _is_for(module: Module, function: ast.FunctionDef, call: ast.Call) -> bool:
    """Whether a function runs at one call alone, as far as the file shows."""
    if isinstance(module.parent_of[function], ast.ClassDef):
        plain = not function.decorator_list or (len(function.decorator_list) == 1 and is_static(function))
        uses: list[ast.AST] = list(module.attributes(function.name))
    else:
        plain, uses = not function.decorator_list, list(module.uses_of(function))
    return plain and uses == [call.func] and not is_generator_or_async(module, function)
