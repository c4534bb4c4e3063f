"""Other names of what is prepared, bound before that: `ddp_model = DDP(model)`. They would hold what is not."""

import ast
from collections.abc import Iterator

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.home import Home
from raymigrate.codemods.to_accelerate.objects import is_attribute
from raymigrate.codemods.to_accelerate.rules import Refusal
from raymigrate.codemods.to_accelerate.variables import WRAPPERS, Variable
from raymigrate.facts.syntax.scopes import DEFINITIONS

COMPILE = "torch.compile"


def bound_again(changes: Changes, home: Home, thing: Variable) -> Iterator[str]:
    """The other names by which a thing trains, so that they get it once more where it is prepared.

    A name of the bare model stays one: `raw = model` above `model = DDP(model)`.

    Args:
        changes: The edits.
        home: Where the thing is prepared.
        thing: What is prepared by a name of its own.

    Raises:
        Refusal: If one of them is a compiled model, which is another object.
    """
    others = [other for other in _held(home) if home.variables.of_variable(other) == {thing}]
    others = [other for other in others if other.name != home.local(thing) and _is_early(home, other)]
    wrapped = {other: list(_wrapped(home, other)) for other in (thing, *others)}
    first = min((home.module.start(call) for calls in wrapped.values() for call in calls), default=(0, 0))
    for other in others:
        is_raw = not wrapped[other] and all(home.module.start(node) < first for node in home.variables.bindings(other))
        if is_raw or not _trains(changes, home, other, is_model=thing in home.training.models):
            continue
        for call in wrapped[other]:
            if home.module.qualified(call.func) == COMPILE:
                reason = f"`{other.name}` is compiled from `{thing.name}` before that is prepared"
                raise Refusal(call, f"{reason}; give both one name")
        yield other.name


def _held(home: Home) -> list[Variable]:
    """The variables of the place where things are prepared, with the attributes of the object that trains."""
    found = [Variable(home.scope, name) for name in home.scope.bindings]
    if home.is_in_class(home.block[0]):
        top = home.module.scope_of[home.module.tree]
        found += [Variable(top, name) for name in top.bindings if is_attribute(name)]
    return list(dict.fromkeys(found))


def _is_early(home: Home, other: Variable) -> bool:
    bindings = home.variables.bindings(other)
    places = [home.place(home.block, node) for node in bindings if not isinstance(node, ast.arg)]
    return any(place is not None and place <= home.setup for place in places)


def _wrapped(home: Home, other: Variable) -> Iterator[ast.Call]:
    """The calls by which a name gets a wrapped model."""
    for value in map(home.module.assigned, home.variables.bindings(other)):
        for part in ast.walk(value) if value is not None else ():
            if isinstance(part, ast.Call) and home.module.qualified(part.func) in WRAPPERS:
                yield part


def _trains(changes: Changes, home: Home, other: Variable, *, is_model: bool) -> bool:
    """Whether a name is read behind what prepares; attributes of a model are those of the bare one."""
    for read in home.variables.reads(other):
        place = home.place(home.block, read)
        is_before = place is not None and place <= home.setup and not isinstance(home.block[place], DEFINITIONS)
        if is_before or changes.is_gone(read):
            continue
        if not (is_model and isinstance(home.module.parent_of[read], ast.Attribute)):
            return True
    return False
