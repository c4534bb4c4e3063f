"""What the parameters of functions are given, and what calls of functions return."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from raymigrate.facts.functions import default_of, is_generator_or_async, returns
from raymigrate.facts.legacy import TORCH_TRAINERS, TRAINERS, TRANSFORMERS_TRAINERS
from raymigrate.facts.values.behind import UNKNOWN, Behind, Source, joined

if TYPE_CHECKING:
    from raymigrate.facts.module import Module
    from raymigrate.facts.scopes import FunctionNode

# The argument of a trainer that holds its training function, and the one that holds the configuration of that.
LOOPS = ("train_loop_per_worker", "train_loop_config")
INITS = ("trainer_init_per_worker", "trainer_init_config")
# What may give a training function another configuration than its trainer does.
TUNERS = ("ray.tune.Tuner", "ray.tune.tuner.Tuner", "ray.tune.run")


def argument(call: ast.Call, position: int, *names: str) -> ast.expr | None:
    """An argument that may be given by position or by any of these names; None where it is not seen."""
    if len(call.args) > position and not any(isinstance(given, ast.Starred) for given in call.args[: position + 1]):
        return call.args[position]
    return next((keyword.value for keyword in call.keywords if keyword.arg in names), None)


def has_unpacking(call: ast.Call) -> bool:
    """Whether a call has arguments that cannot be seen."""
    starred = any(isinstance(given, ast.Starred) for given in call.args)
    return starred or any(keyword.arg is None for keyword in call.keywords)


def returned(module: Module, call: ast.Call, *, elsewhere: bool) -> Behind:
    """What a call of a function of the project returns."""
    function: ast.AST | None = module.definition(call.func)
    if not isinstance(function, ast.FunctionDef):
        function = module.value(call.func)
    found = (
        module.elsewhere(call.func) if elsewhere and not isinstance(function, (ast.FunctionDef, ast.Lambda)) else None
    )
    if found is not None:
        module, function = found.module, found.function
    if isinstance(function, ast.Lambda):
        return Behind([Source(module, function.body)], whole=True)
    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return UNKNOWN
    return returned_by(module, function)


def returned_by(module: Module, function: ast.FunctionDef) -> Behind:
    """What a function returns."""
    ends = returns(module, function)
    values = [end.value for end in ends if end.value is not None]
    if len(values) != len(ends) or is_generator_or_async(module, function):
        return UNKNOWN
    return Behind([Source(module, value) for value in values], whole=bool(values))


def given_to(module: Module, parameter: ast.arg) -> Behind:
    """What the calls of a function give for one of its parameters."""
    function = module.parent_of[module.parent_of[parameter]]
    assert isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
    default = default_of(parameter, function.args)
    optional = [Source(module, default)] if default is not None else []
    name, skipped = _name_to_call(module, function)
    scope = module.scope_of[function].find(name) if name else None
    if scope is None or len(scope.bindings[name]) != 1:
        return Behind(optional)
    uses = [_given_by(module, use, function, parameter, skipped) for use in module.uses(name, scope)]
    return joined(uses) if uses else Behind(optional)


def _name_to_call(module: Module, function: FunctionNode) -> tuple[str, int]:
    """The name under which a function is called, and how many of its parameters Python itself fills."""
    owner = module.parent_of[function]
    if isinstance(function, ast.Lambda):
        target = owner.targets[0] if isinstance(owner, ast.Assign) and len(owner.targets) == 1 else None
        return (target.id, 0) if isinstance(target, ast.Name) else ("", 0)
    if isinstance(owner, ast.ClassDef):
        return (owner.name, 1) if function.name == "__init__" else ("", 0)
    return function.name, 0


def _given_by(module: Module, use: ast.Name, function: FunctionNode, parameter: ast.arg, skipped: int) -> Behind:
    """What one use of a function gives for a parameter: a call of it, or a trainer that is handed it."""
    call = module.parent_of[use]
    if isinstance(call, ast.keyword):
        call = module.parent_of[call]
    if not isinstance(call, ast.Call):
        return UNKNOWN
    if call.func is not use:
        return _given_by_trainer(module, call, use, function, parameter)
    positional = [*function.args.posonlyargs, *function.args.args][skipped:]
    if has_unpacking(call) or parameter not in (*positional, *function.args.kwonlyargs):
        return UNKNOWN
    place = positional.index(parameter) if parameter in positional else len(call.args)
    given = argument(call, place, parameter.arg) or default_of(parameter, function.args)
    return Behind([Source(module, given)], whole=True) if given is not None else UNKNOWN


def _given_by_trainer(
    module: Module, call: ast.Call, use: ast.Name, function: FunctionNode, parameter: ast.arg
) -> Behind:
    """What a trainer gives its training function: the configuration as a whole, or the entry of the same name."""
    name = module.qualified(call.func)
    if name not in TRAINERS | TORCH_TRAINERS:
        return UNKNOWN
    handed, key = INITS if name in TRANSFORMERS_TRAINERS else LOOPS
    config = argument(call, len(call.args), key)
    if argument(call, 0, handed) is not use or config is None:
        return UNKNOWN
    as_dict = function.args.kwarg if name in TRANSFORMERS_TRAINERS else function.args.args[0]
    if parameter is as_dict:
        found: ast.expr | None = config
    else:
        found = (module.entries(config) or {}).get(parameter.arg)
    tuned = any(module.calls(*TUNERS))
    return Behind([Source(module, found)], whole=not tuned) if found is not None else UNKNOWN
