"""RM806: callbacks and Trainers by which one worker stops, saves or evaluates where the others may go on.

A Trainer asks the TrainerControl of its own process (transformers 5.23, trainer.py:1963), and each of these needs all
workers: who stops leaves the others waiting at the next sum of gradients.
"""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.all_workers import ALONE, body_of
from raymigrate.codemods.to_ray.trackers import asked, is_asked_rank
from raymigrate.facts.hugging_face.callbacks import event_methods
from raymigrate.facts.projects.callees import callees
from raymigrate.facts.projects.project import with_imported
from raymigrate.facts.ray_train.ranks import tests_rank
from raymigrate.facts.syntax.functions import returns
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.named_lines import line_of_file
from raymigrate.facts.values import called_name
from raymigrate.facts.values.moments import AGREES, asks_now

CONTROLS = {
    "should_training_stop": "stops",
    "should_epoch_stop": "ends the epoch",
    "should_save": "saves",
    "should_evaluate": "evaluates",
    "should_log": "logs",
}
MESSAGE = (
    "Each worker decides for itself{} whether it {}, by the time, the disk or its rank: where the answers differ, the"
    " others wait for it for ever."
)
ADVICE = (
    "Let each worker come here, and the first one decide for all:"
    " ray.train.collective.broadcast_from_rank_zero(answer) gives its answer to each."
)


def tell_own_stops(context: Context, rule: Rule, place: ast.AST) -> None:
    """Tells of what each worker decides for itself, in this file and in those that it imports.

    Args:
        context: The module.
        rule: The rule that tells.
        place: Where other files are told of.
    """
    for home in with_imported(context.module):
        for store in _decided(home) if any(name in home.text for name in CONTROLS) else ():
            is_here = home is context.module
            where = "" if is_here else f" in {line_of_file(home, store)}"
            message = MESSAGE.format(where, CONTROLS[store.attr])
            context.manual(rule, store if is_here else place, message, ADVICE)


def _decided(module: Module) -> Iterator[ast.Attribute]:
    """The controls that the methods of callbacks set where each worker may find something else."""
    stores = sorted((store for name in CONTROLS for store in module.stores(name)), key=module.start)
    methods = list(event_methods(module)) if stores else []
    owners = {module.parent_of[method] for method in methods}
    for store in stores:
        function = module.function(store)
        if function in methods or (isinstance(function, ast.FunctionDef) and module.parent_of[function] in owners):
            value = module.assigned(store)
            tests = [*_tests(module, store), *([value] if value is not None else ())]
            if not _agree(module, function) and any(_is_own(module, test) for test in tests):
                yield store


def _tests(module: Module, store: ast.AST) -> Iterator[ast.expr]:
    """The conditions on which something in a function depends: around it, and where the function ends before it."""
    function = module.function(store)
    for outer in module.ancestors(store):
        if outer is function:
            break
        if isinstance(outer, (ast.If, ast.While)):
            yield outer.test
    for end in module.of_type(ast.Return) if function is not None else ():
        before = module.parent_of[end]
        if isinstance(before, ast.If) and module.function(end) is function and end.lineno < store.lineno:  # type: ignore[attr-defined]
            yield before.test


def _is_own(module: Module, test: ast.expr) -> bool:
    """Whether a condition asks for the time, the disk or the rank, itself or in a function that it calls."""
    if any(asks_now(module, test)) or tests_rank(module, test):
        return True
    if any(is_asked_rank(module, part) for part in asked(module, test)):  # `args.should_save` too
        return True
    for call in (part for part in ast.walk(test) if isinstance(part, ast.Call)):
        for callee in callees(module, call.func):
            given = [] if not isinstance(callee.function, ast.FunctionDef) else returns(callee.module, callee.function)
            if any(any(asks_now(callee.module, end.value)) for end in given if end.value is not None):
                return True
    return False


def _agree(module: Module, function: ast.AST | None) -> bool:
    calls = (part for step in body_of(function) for part in ast.walk(step) if isinstance(part, ast.Call))  # type: ignore[arg-type]
    names = (called_name(module, call) for call in calls)
    return any(name.startswith(AGREES) and not name.endswith(ALONE) for name in names)
