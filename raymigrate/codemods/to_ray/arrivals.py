"""Where a script comes to its training, which may be in a function, a method or a block, and what stands beside it."""

import ast
from collections.abc import Callable, Collection, Iterable, Sequence
from operator import gt, lt

from raymigrate.codemods.to_ray.all_workers import leads_to
from raymigrate.codemods.to_ray.script import DEFINITIONS, Script, live_uses, trained_places
from raymigrate.codemods.to_ray.statements import Roles
from raymigrate.codemods.to_ray.trainer_calls import is_trainer
from raymigrate.facts.projects.callees import callees
from raymigrate.facts.projects.import_graph import HOLDS_STATEMENTS
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import FUNCTIONS

NO_STATEMENTS = frozenset({ast.ExceptHandler, ast.match_case})  # which hold some


@kept
def calls_of(module: Module, function: ast.FunctionDef) -> list[ast.Call]:
    """The calls of a function by its name, or of a method: of any object but a Trainer where none is seen to be its."""
    if isinstance(module.parent_of[function], ast.ClassDef):
        calls = [pair for pair in module.method_calls(function.name) if not is_trainer(module, pair[1].value)]
        own = [call for call, method in calls if any(c.function is function for c in callees(module, method))]
        return own or [call for call, _ in calls]
    return [call for use in live_uses(module, function) if (call := module.calling(use)) is not None]


def arrivals(module: Module, trains: Iterable[ast.Call]) -> list[ast.Call]:
    """The calls that train, and those of the functions in which these are, and so on."""
    found: dict[ast.Call, None] = {}
    waiting = list(trains)
    while waiting:
        call = waiting.pop(0)
        if call in found:
            continue
        found[call] = None
        function = module.function(call)
        if isinstance(function, ast.FunctionDef):
            waiting += calls_of(module, function)
    return list(found)


def last_trained(script: Script, roles: Roles, trains: Sequence[ast.Call]) -> ast.stmt | None:
    """The last step that trains: by itself, by a function of the script, or by a method of it.

    None where a step of the driver keeps a function that trains, `RUN = {"again": again}`: who calls it is not seen.
    """
    written = script.step_of(trains[-1])
    if written is None:
        return None
    steps = [script.step_of(call) for call in arrivals(script.module, trains)]
    reached = {script.number(step) for step in steps if step is not None}.union(trained_places(script, trains))
    moved = [number for number in reached if roles.of[script.steps[number]].moves]
    if any(not isinstance(script.steps[number], DEFINITIONS) for number in reached.difference(moved)):
        return None
    return script.steps[max(moved, default=script.number(written))]


def places(script: Script, moved: Sequence[ast.stmt], trains: Iterable[ast.AST]) -> list[int]:
    """The numbers of the steps that train, among those that move."""
    return [place for call in trains for place in _places(script, moved, call)]


def _places(script: Script, moved: Sequence[ast.stmt], call: ast.AST) -> list[int]:
    step, function = script.step_of(call), script.module.function(call)
    if not isinstance(step, DEFINITIONS) or not isinstance(function, FUNCTIONS):
        return [moved.index(step)] if step in moved else []
    return [
        place
        for place, other in enumerate(moved)
        if not isinstance(other, DEFINITIONS) and leads_to(script.module, other, function)
    ]


def between(moved: Sequence[ast.stmt], reached: Sequence[int]) -> list[ast.stmt]:
    """The steps between the first training and the last one, of those that move."""
    return [moved[place] for place in range(min(reached), max(reached)) if place not in reached] if reached else []


def before(script: Script, calls: Iterable[ast.Call]) -> list[ast.stmt]:
    """The statements beside some calls that stand before one of them, each once; see `_around`."""
    return _each_once(script, calls, lt)


def behind(script: Script, calls: Iterable[ast.Call]) -> list[ast.stmt]:
    """The statements beside some calls that stand behind one of them, each once; see `_around`."""
    return _each_once(script, calls, gt)


def _each_once(script: Script, calls: Iterable[ast.Call], stands: Callable[[int, int], bool]) -> list[ast.stmt]:
    found: dict[ast.stmt, None] = {}
    for call in calls:  # perhaps hundreds in one function
        found |= dict.fromkeys([part for part in _around(script, call) if stands(part.lineno, call.lineno)])
    return [*found]


def _around(script: Script, call: ast.Call) -> list[ast.stmt]:
    """The statements beside a call that is not a step itself: of its function, or of the block that it is in."""
    step, function = script.step_of(call), script.module.function(call)
    if step is None or step is script.module.statement(call):
        return []
    top = [step] if function is None or function is script.main else function.body
    return _beside(top, {*script.module.ancestors(call)}) if isinstance(top, list) else []


def _beside(block: Sequence[ast.AST], outer: Collection[ast.AST]) -> list[ast.stmt]:
    """The statements of a block, and of the blocks within that lead to a call: all but those around the call."""
    found = [part for part in block if part not in outer and part.__class__ not in NO_STATEMENTS]
    for part in [part for part in block if part in outer]:
        for name in HOLDS_STATEMENTS:
            found += _beside(getattr(part, name, None) or (), outer)
    return found  # type: ignore[return-value]
