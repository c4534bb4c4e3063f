"""RM693: verbose= of torch's learning rate schedulers, which printed a line where the rate changed.

torch 2.13 (optim/lr_scheduler.py) has the argument in none of them: a TypeError.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.gone.rescan import RM693
from raymigrate.facts.projects.indirect import calls_by_name, calls_of_held
from raymigrate.facts.syntax.guards import is_guarded
from raymigrate.facts.values import (
    argument,
    called_name,
    has_unpacking,
    is_method_call,
    keyword_named,
    last_name,
    unpacked_dicts,
)
from raymigrate.facts.values.carried import carried

ARGUMENT = "verbose"
SCHEDULERS = "torch.optim.lr_scheduler."
# Its place, which was the last one (torch 2.2).
PLACES = {
    **{"LRScheduler": 2, "_LRScheduler": 2, "LambdaLR": 3, "MultiplicativeLR": 3, "ExponentialLR": 3},
    **{"StepLR": 4, "MultiStepLR": 4, "ConstantLR": 4, "SequentialLR": 4, "PolynomialLR": 4, "CosineAnnealingLR": 4},
    **{"LinearLR": 5, "CosineAnnealingWarmRestarts": 5, "ReduceLROnPlateau": 9, "CyclicLR": 13, "OneCycleLR": 14},
}
NAMES = frozenset(f"{SCHEDULERS}{kind}" for kind in PLACES)
REFUSED = "{}(verbose=) raises a TypeError today"
OF_SCHEDULERS = "verbose= of torch's schedulers raises a TypeError today."
LEFT_OUT = f"{REFUSED}: torch's schedulers do not print any more; left out."
PRINT = "Leave it out, and print scheduler.get_last_lr() where the script wants to see the rate."


@codemod("lr_scheduler")
def scheduler_verbose(context: Context) -> None:
    """Leaves the argument out, or tells of one that a scheduler gets in another way."""
    module = context.module
    if not context.takes_current_libraries:
        return
    for call in module.calls_if(lambda name: name.startswith(SCHEDULERS) and not name.endswith(".__init__")):
        shown = called_name(module, call).rpartition(".")[2]
        keyword = keyword_named(call, ARGUMENT)
        if keyword is not None and not is_guarded(module, keyword, ARGUMENT):
            if context.converts(RM693, keyword, LEFT_OUT.format(shown)):
                context.plan.call(call).remove.add(ARGUMENT)
        elif keyword is None:
            _tell_given(context, call, shown, PLACES.get(shown))
        for unpacked in unpacked_dicts(call):
            if any(entry.name == ARGUMENT for entry in carried(module, unpacked).entries):
                context.manual(RM693, unpacked, f"{REFUSED.format(shown)}, and this dict has it.", PRINT)
    _tell_held(context)
    for definition in module.of_type(ast.ClassDef):
        for base in definition.bases:
            if module.qualified(base) in NAMES:
                _tell_constructors(context, definition, module.qualified(base) or "")


def _tell_held(context: Context) -> None:
    """Tells of a call of a scheduler's class that a name holds, or that is looked up or given to partial()."""
    module = context.module
    if not any(True for _ in module.keywords(ARGUMENT)):
        return
    for call in (*calls_by_name(module, NAMES), *(held for held, _ in calls_of_held(module, NAMES))):
        keyword = keyword_named(call, ARGUMENT)
        if keyword is not None and not is_guarded(module, keyword, ARGUMENT):
            context.manual(RM693, keyword, OF_SCHEDULERS, PRINT)


def _tell_constructors(context: Context, definition: ast.ClassDef, base: str) -> None:
    """Tells of a scheduler of the script's own that hands the argument to torch's class."""
    kind = base.rpartition(".")[2]
    for call in ast.walk(definition):
        if is_method_call(call, "__init__") and context.module.class_around(call) is definition:
            is_named = context.module.qualified(call.func.value) == base
            if is_named or _is_of_super(call.func.value):
                _tell_given(context, call, kind.removeprefix("_"), PLACES[kind] + is_named)


def _is_of_super(owner: ast.expr) -> bool:
    return isinstance(owner, ast.Call) and last_name(owner.func) == "super"


def _tell_given(context: Context, call: ast.Call, shown: str, place: int | None) -> None:
    """Tells of a call that gives the argument by its place, or of a constructor that is given it."""
    given = argument(call, place, ARGUMENT) if place is not None else None
    if given is not None and not has_unpacking(call) and not is_guarded(context.module, call, ARGUMENT):
        context.manual(RM693, given, f"{REFUSED.format(shown)}.", PRINT)
