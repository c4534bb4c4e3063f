"""Tuners that no call of the class itself makes: by partial(), by what holds the class, in a class made from it."""

import ast
from collections.abc import Iterator

from raymigrate.facts.projects.indirect import calls_of_held, partial_calls
from raymigrate.facts.ray_tune.tuners import TUNERS, TunerCall
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import keyword_argument
from raymigrate.facts.values.constructors import constructors
from raymigrate.facts.values.keys import unpacked_value

TRAINABLE = "trainable"
NAMES = frozenset(TUNERS)
BY_PARTIAL = "the Tuner is made by partial()"
BY_HOLDER = "the class is called by another name"
BY_SUPER = "the Tuner is made by a class of its own"


def unpacked_trainable(tuner: TunerCall) -> ast.expr | None:
    """What a Tuner gets out of a list or a dict that its call unpacks: `Tuner(*arguments)`, `Tuner(**arguments)`."""
    return _trainable(tuner.module, tuner.node) if tuner.unpacked else None


def other_tuners(module: Module) -> Iterator[tuple[ast.Call, ast.expr | None, str]]:
    """The calls that make Tuners in another way than by the class, each with what it tunes, and how it is made."""
    for call, made in partial_calls(module, NAMES):
        given = [*made.args[1:2], *filter(None, (_trainable(module, call), _trainable(module, made, skip=1)))]
        yield call, next(iter(given), None), BY_PARTIAL
    for call, _ in calls_of_held(module, NAMES):
        yield call, _trainable(module, call), BY_HOLDER
    for call, method in module.method_calls("__init__"):
        line = constructors(module, call)
        if line and line[0] in NAMES:  # Tuner.__init__(self, ...) has the object first
            of_super = isinstance(method.value, ast.Call)
            yield call, _trainable(module, call, skip=0 if of_super else 1), BY_SUPER


def _trainable(module: Module, call: ast.Call, skip: int = 0) -> ast.expr | None:
    """What a call gives as the first argument of a Tuner, behind some others; None where it is not seen."""
    if len(call.args) > skip:
        first = call.args[skip]
        several = module.value(first.value) if isinstance(first, ast.Starred) else None
        if isinstance(several, (ast.List, ast.Tuple)):
            return several.elts[0] if several.elts else None
        return None if isinstance(first, ast.Starred) else first
    return keyword_argument(call, TRAINABLE) or unpacked_value(module, call, TRAINABLE)
