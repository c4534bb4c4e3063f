"""RM806, RM828: seeds that each worker works out of the time for itself: `set_seed(int(time.time()))`."""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.cell_lines import run_by_workers
from raymigrate.codemods.to_ray.launched import LaunchedOutline
from raymigrate.facts.projects.callees import calls_within
from raymigrate.facts.projects.project import with_imported
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import FUNCTIONS
from raymigrate.facts.torch.random_splits import seeds_set
from raymigrate.facts.values.moments import CLOCKS, is_agreed

KEYWORDS = ("seed", "data_seed", "random_state")
MESSAGE = (
    "Each worker works this seed out of the time by itself, at another moment: where the seeds differ, so does what"
    " workers shuffle, split or pick with them, and some rows come twice in an epoch and others never."
)
ADVICE = "Work it out once: above the training function, on the driver, where all workers get it from."


def tell_seeds_by_time(context: Context, rule: Rule, outline: LaunchedOutline) -> bool:
    """Tells of them.

    Args:
        context: The file.
        rule: The rule of the conversion.
        outline: What becomes of the script.

    Returns:
        Whether there are any.
    """
    module = context.module
    found = [(place, clock) for place, clock in _by_time(module) if outline.may_grow]
    steps = run_by_workers(outline) if found else set()
    told = {p: None for p, clock in found if outline.script.step_of(clock) in steps and _is_called(module, clock)}
    for place in told:
        context.manual(rule, place, MESSAGE, ADVICE)
    return bool(told)


def _is_called(module: Module, node: ast.AST) -> bool:
    """Whether something refers to the function that code is in, if it is in one."""
    function = module.function(node)
    is_method = isinstance(module.parent_of.get(function) if function is not None else None, ast.ClassDef)
    return not isinstance(function, ast.FunctionDef) or is_method or bool(module.uses_of(function))


def _by_time(module: Module) -> Iterator[tuple[ast.AST, ast.Call]]:
    """Where a seed is given that asks for the time, with what asks, which may stand where a name of it is bound."""
    if not any(other.references_within(*CLOCKS) for other in with_imported(module)):
        return
    given: list[tuple[ast.AST, ast.expr]] = [(call, value) for call in seeds_set(module) for value in call.args[:1]]
    named = ((call, keyword) for name in KEYWORDS for call, keyword in module.keywords(name))
    # A function of the project may do anything with what it is given, and what it sets is seen there.
    given += [(word, word.value) for call, word in named if not isinstance(module.definition(call.func), FUNCTIONS)]
    for place, value in given:
        yield from ((place, asked) for asked in _asked(module, value, frozenset()))


def _asked(module: Module, value: ast.AST, seen: frozenset[ast.AST]) -> Iterator[ast.Call]:
    """What of a value asks for the time: itself, by a function that gives it, or where a name of it is bound."""
    for part in ast.walk(value):
        if isinstance(part, ast.Call) and _asks(module, part):
            yield part
        elif isinstance(part, ast.Call):
            ends = (source for source in module.origins(part) if source.node is not part)
            if any(_asks(source.module, inner) for source in ends for inner in calls_within(source.node)):
                yield part
        elif isinstance(part, ast.Name) and part not in seen and not is_agreed(module, part):
            ends = (source for source in module.origins(part) if source.module is module and source.node is not part)
            for source in ends:
                yield from _asked(module, source.node, seen | {part, source.node}) if source.node not in seen else ()


def _asks(module: Module, call: ast.Call) -> bool:
    return module.qualified(call.func) in CLOCKS
