"""What the parameters of functions are given, and what calls of functions return."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raymigrate.facts.syntax.functions import by_position, decorators_of, default_of, is_generator_or_async, returns
from raymigrate.facts.syntax.nodes import only_target
from raymigrate.facts.values.arguments import (
    argument,
    called_name,
    has_starred,
    has_unpacking,
    is_method_call,
    keyword_argument,
    named_arguments,
)
from raymigrate.facts.values.behind import UNKNOWN, Behind, Source, joined
from raymigrate.facts.values.fixtures import of_fixture
from raymigrate.facts.values.partials import PARTIAL
from raymigrate.knowledge.legacy import TORCH_TRAINERS, TRAINERS, TRANSFORMERS_TRAINERS

if TYPE_CHECKING:
    from raymigrate.facts.syntax.module import Module
    from raymigrate.facts.syntax.scopes import Binding, FunctionNode

# The argument of a trainer that holds its training function, and the one that holds the configuration of that.
LOOPS = ("train_loop_per_worker", "train_loop_config")
INITS = ("trainer_init_per_worker", "trainer_init_config")
# What may give a training function another configuration than its trainer does.
TUNE_RUN = "ray.tune.run"
TUNERS = ("ray.tune.Tuner", "ray.tune.tuner.Tuner", TUNE_RUN)
# Methods that start an actor or a task, and a deployment of Ray Serve.
STARTS = ("remote", "bind")
# Decorators of methods, and those of functions, that give on what comes back.
METHODS = ("staticmethod", "classmethod")
TRANSPARENT = frozenset(
    {
        *("functools.cache", "functools.lru_cache", "prefect.flow", "ray.remote"),
        *("torch.no_grad", "torch.enable_grad", "torch.inference_mode"),
    }
)
# Methods of datasets that call a function with each batch or row, or make an object of a class for that.
MAPPING = ("map", "map_batches", "flat_map", "filter")
FUNCTION_ARGUMENTS = ("fn_args", "fn_kwargs")
CONSTRUCTOR_ARGUMENTS = ("fn_constructor_args", "fn_constructor_kwargs")
# What starts a function in several processes, and how much it gives that before its `args`: the number of the process.
LAUNCHERS = {
    **{f"accelerate.{where}{name}_launcher": 0 for where in ("", "launchers.") for name in ("notebook", "debug")},
    "torch.multiprocessing.spawn": 1,
}
PARAMETRIZE = "pytest.mark.parametrize"
PARAM = "pytest.param"


def returned(module: Module, call: ast.Call, *, elsewhere: bool) -> Behind:
    """What a call of a function of the project returns; of `ray.get()` what its task returned."""
    module, function = called_function(module, call, elsewhere=elsewhere)
    if isinstance(function, ast.Lambda):
        return Behind([Source(module, function.body)], whole=True)
    return given_back(module, function) if isinstance(function, ast.FunctionDef) else UNKNOWN


def called_function(module: Module, call: ast.Call, *, elsewhere: bool) -> tuple[Module, ast.AST | None]:
    """The function that a call runs, with its module; something else where it is not seen."""
    called = _task(module, call) or call.func
    function: ast.AST | None = module.definition(called)
    if not isinstance(function, ast.FunctionDef):
        function = module.value(called)
    if elsewhere and not isinstance(function, (ast.FunctionDef, ast.Lambda)):
        module, function = _function_elsewhere(module, called) or _looked_up(module, called) or (module, function)
    return module, function


def _looked_up(module: Module, called: ast.expr) -> tuple[Module, ast.AST] | None:
    """The function that a table gives for a key, if it gives one alone: `MAKERS["own"]()`."""
    if not isinstance(called, (ast.Subscript, ast.Call)):
        return None
    found = {(source.module, source.module.definition(source.node)) for source in module.origins(called)}
    home, function = found.pop() if len(found) == 1 else (module, None)
    return (home, function) if isinstance(function, ast.FunctionDef) else None


def _task(module: Module, call: ast.Call) -> ast.expr | None:
    """The function of the task that `ray.get()` waits for: `train` of `ray.get(train.remote())`."""
    if module.qualified(call.func) != "ray.get" or len(call.args) != 1:
        return None
    started = module.value(call.args[0])
    if not is_method_call(started, "remote"):
        return None
    task = started.func.value
    if is_method_call(task, "options"):
        task = task.func.value
    is_made = isinstance(task, ast.Call) and module.qualified(task.func) == "ray.remote" and len(task.args) == 1
    return task.args[0] if is_made and isinstance(task, ast.Call) else task


def _function_elsewhere(module: Module, node: ast.expr) -> tuple[Module, ast.AST] | None:
    """What another file defines under a name, or under the one that it gives the name: `build = make`."""
    found = module.elsewhere(node)
    if found is None or not isinstance(found.value, (ast.Name, ast.Attribute)):
        return (found.module, found.node) if found is not None else None
    made = found.module.definition(found.value)
    if isinstance(made, ast.FunctionDef):
        return found.module, made
    other = found.module.elsewhere(found.value)
    return (other.module, other.node) if other is not None else None


def given_back(module: Module, function: ast.FunctionDef) -> Behind:
    """What a call of a function gives: what it returns, unless a decorator may make something else of that."""
    called = decorators_of(function)
    is_kept = all(ast.unparse(d) in METHODS or module.qualified(d) in TRANSPARENT for d in called)
    return returned_by(module, function) if is_kept else UNKNOWN


def returned_by(module: Module, function: ast.FunctionDef) -> Behind:
    """What a function returns, before any decorator gets it."""
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
    by_pytest = _parametrized(module, function, parameter)
    given = None if by_pytest else of_fixture(module, function, parameter)
    if given is not None:
        return given
    called = module.parent_of[function]
    positional = by_position(function)
    if isinstance(called, ast.Call) and called.func is function and parameter in positional:
        at_once = argument(called, positional.index(parameter), parameter.arg) or default  # `(lambda one: ...)(one)`
        is_seen = at_once is not None and not has_unpacking(called)
        return Behind([Source(module, at_once)], whole=True) if is_seen else UNKNOWN  # type: ignore[arg-type]
    name, skipped = _name_to_call(module, function)
    scope = module.scope_of[function].find(name) if name else None
    if scope is None or not _is_called_by(module, scope.bindings[name]):
        return Behind(optional)
    uses = [_given_by(module, use, function, parameter, skipped) for use in module.uses(name, scope)]
    uses += by_pytest
    return joined(uses) if uses else Behind(optional)


def _is_called_by(module: Module, bindings: Sequence[Binding]) -> bool:
    """Whether all uses of a name are of one definition, or of those of several branches: whichever of them runs."""
    if len(bindings) == 1:
        return True
    blocks = [module.parent_of.get(binding.node) for binding in bindings]
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return all(isinstance(binding.node, definitions) for binding in bindings) and all(
        isinstance(block, (ast.If, ast.Try, ast.ExceptHandler)) for block in blocks
    )


def _name_to_call(module: Module, function: FunctionNode) -> tuple[str, int]:
    """The name under which a function is called, and how many of its parameters Python itself fills."""
    owner = module.parent_of[function]
    if isinstance(function, ast.Lambda):
        target = only_target(owner)
        return (target.id, 0) if isinstance(target, ast.Name) else ("", 0)
    if isinstance(owner, ast.ClassDef):
        return (owner.name, 1) if function.name == "__init__" else ("", 0)
    return function.name, 0


def _given_by(module: Module, use: ast.Name, function: FunctionNode, parameter: ast.arg, skipped: int) -> Behind:
    """What one use of a function gives for a parameter: a call of it, or what has it called."""
    outer = module.parent_of[use]
    if isinstance(outer, ast.keyword):
        outer = module.parent_of[outer]
    if isinstance(outer, ast.Call) and module.qualified(outer.func) in TRAINERS | TORCH_TRAINERS:
        return _given_by_trainer(module, outer, use, function, parameter)
    handed = _handed(module, use, outer, makes_object=bool(skipped))
    positional = by_position(function)[skipped:]
    if handed is None or parameter not in (*positional, *function.args.kwonlyargs):
        return UNKNOWN
    place = positional.index(parameter) if parameter in positional else len(handed.positional)
    given = handed.positional[place] if place < len(handed.positional) else handed.named.get(parameter.arg)
    if given is None and handed.complete:
        given = default_of(parameter, function.args)
    return Behind([Source(module, given)], whole=True) if given is not None else UNKNOWN


@dataclass(frozen=True)
class _Handed:
    """Arguments of a function.

    Args:
        positional: Those by position; None for one that is made where the function runs.
        named: Those by name.
        complete: Whether it gets no others.
    """

    positional: list[ast.expr | None]
    named: dict[str, ast.expr]
    complete: bool


def _handed(module: Module, use: ast.Name, outer: ast.AST, *, makes_object: bool) -> _Handed | None:
    """The arguments that a use of a function hands it; None where they cannot be seen.

    Args:
        use: The function's name.
        outer: The call, or attribute, that it is part of.
        makes_object: Whether it is a class, which gets what its __init__ takes.
    """
    while isinstance(outer, ast.Attribute) and isinstance(call := module.parent_of[outer], ast.Call):
        if outer.attr in STARTS:  # `Actor.remote(...)`
            return _of_call(call)
        outer = module.parent_of[call] if outer.attr == "options" else call
    if not isinstance(outer, ast.Call):
        return None
    if outer.func is use:
        return _of_call(outer)
    if module.qualified(outer.func) == PARTIAL and not has_unpacking(outer):
        named = named_arguments(outer)
        return _Handed(list(outer.args[1:]), named, complete=False) if use in outer.args[:1] else None
    launcher = module.qualified(outer.func)
    if launcher in LAUNCHERS and not has_unpacking(outer):
        started = argument(outer, 0, "function", "fn") is use
        listed = _listed(module, argument(outer, 1, "args"), LAUNCHERS[launcher]) if started else None
        return _Handed(listed, {}, complete=True) if listed is not None else None
    if not is_method_call(outer, *MAPPING) or argument(outer, 0, "fn", "function") is not use:
        return None
    by_position, by_name = CONSTRUCTOR_ARGUMENTS if makes_object else FUNCTION_ARGUMENTS
    listed = _listed(module, argument(outer, len(outer.args), by_position), 0 if makes_object else 1)
    if listed is None:
        return None
    given = argument(outer, len(outer.args), by_name)
    entries = module.entries(given) if given is not None else None
    return _Handed(listed, entries or {}, complete=False)


def _listed(module: Module, given: ast.expr | None, before: int) -> list[ast.expr | None] | None:
    """The arguments that are handed on in a tuple; None where it is not seen what it holds.

    Args:
        given: The tuple; None where there is none.
        before: How many arguments come before these, and are made where the function runs.
    """
    display = module.value(given) if given is not None else ast.Tuple([])
    if not isinstance(display, (ast.Tuple, ast.List)) or has_starred(display.elts):
        return None
    return [*[None] * before, *display.elts]


def _of_call(call: ast.Call) -> _Handed | None:
    if has_unpacking(call):
        return None
    named = named_arguments(call)
    return _Handed(list(call.args), named, complete=True)


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
    first = next(iter(by_position(function)), None)
    as_dict = function.args.kwarg if name in TRANSFORMERS_TRAINERS else first
    entry = None if parameter is as_dict else parameter.arg
    found = config if entry is None else (module.entries(config) or {}).get(entry)
    tuned, whole = _searched(module, key, entry)
    return Behind([Source(module, one) for one in (found, *tuned)], whole=whole) if found is not None else UNKNOWN


def configuration_for(module: Module, use: ast.expr) -> ast.expr | None:
    """The dict of which an init function gets the entries; None where a use of it hands it to no trainer."""
    call = module.taking(use)
    if call is None or module.qualified(call.func) not in TRANSFORMERS_TRAINERS:
        return None
    handed, key = INITS
    return argument(call, len(call.args), key) if argument(call, 0, handed) is use else None


def _searched(module: Module, key: str, name: str | None) -> tuple[list[ast.expr], bool]:
    """What the search spaces of Tuners give a training function besides, and whether that is all.

    Args:
        key: The argument of the trainer that holds the configuration.
        name: The entry of it that is asked about; None for the whole.
    """
    found: list[ast.expr] = []
    for call in module.calls(*TUNERS):
        given = keyword_argument(call, "param_space")
        space = {} if given is None else module.entries(given)
        if module.qualified(call.func) == TUNE_RUN or has_unpacking(call) or space is None or len(call.args) > 1:
            return [], False
        if key not in space:
            continue
        entries = {} if name is None else module.entries(space[key])
        if entries is None:
            return [], False
        one = space[key] if name is None else entries.get(name)
        if one is not None and is_drawn(module, one):
            return [], False
        found += [one] if one is not None else []
    return found, True


def is_drawn(module: Module, value: ast.expr) -> bool:
    """Whether a Tuner puts one of several values in its place: `tune.choice(...)`, `{"grid_search": ...}`."""
    made = module.value(value)
    is_sample = called_name(module, made).startswith("ray.tune.")
    return is_sample or (isinstance(made, ast.Dict) and "grid_search" in (module.entries(made) or ()))


# https://docs.pytest.org/en/stable/how-to/parametrize.html
def _parametrized(module: Module, function: FunctionNode, parameter: ast.arg) -> list[Behind]:
    """What each decorator of a test that names one of its parameters gives for it."""
    found = []
    for decorator in () if isinstance(function, ast.Lambda) else function.decorator_list:
        if isinstance(decorator, ast.Call) and module.qualified(decorator.func) == PARAMETRIZE:
            names = _names(decorator.args[0]) if len(decorator.args) > 1 else []
            if parameter.arg in names:
                found.append(_column(module, decorator.args[1], names.index(parameter.arg), len(names)))
    return found


def _names(node: ast.expr) -> list[str]:
    """The names of `"a, b"`, `("a", "b")` or `["a", "b"]`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [name.strip() for name in node.value.split(",")]
    listed = node.elts if isinstance(node, (ast.Tuple, ast.List)) else []
    return [str(part.value) if isinstance(part, ast.Constant) else "" for part in listed]


def _column(module: Module, cases: ast.expr, place: int, width: int) -> Behind:
    """The values at one place of all cases."""
    listed = module.value(cases)
    if not isinstance(listed, (ast.List, ast.Tuple)):
        return UNKNOWN
    values = [_value(module, case, place, width) for case in listed.elts]
    seen = [Source(module, value) for value in values if value is not None]
    return Behind(seen, whole=len(seen) == len(values))


def _value(module: Module, case: ast.expr, place: int, width: int) -> ast.expr | None:
    if isinstance(case, ast.Call) and module.qualified(case.func) == PARAM:
        parts: list[ast.expr] = case.args
    elif width == 1:
        return case
    else:
        parts = case.elts if isinstance(case, (ast.Tuple, ast.List)) else []
    shown = len(parts) == width and not has_starred(parts)
    return parts[place] if shown else None
