"""RM693: verbose= of torch's learning rate schedulers, which printed a line where the rate changed.

torch 2.13 (optim/lr_scheduler.py) has the argument in none of them: a TypeError.
"""

import ast
from collections.abc import Iterator

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.gone.rescan import RM693
from raymigrate.facts.syntax.guards import is_guarded
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, argument, called_name, is_none, keyword_named, unpacked_dicts
from raymigrate.facts.values.carried import carried
from raymigrate.facts.values.constructors import constructors, is_given_object
from raymigrate.facts.values.items import origins_of_items

ARGUMENT = "verbose"
PARTIAL = "functools.partial"
SCHEDULERS = "torch.optim.lr_scheduler."
# Its place, behind all arguments that there are today.
PLACES = {
    **{"LRScheduler": 2, "_LRScheduler": 2, "LambdaLR": 3, "MultiplicativeLR": 3, "ExponentialLR": 3},
    **{"StepLR": 4, "MultiStepLR": 4, "ConstantLR": 4, "SequentialLR": 4, "PolynomialLR": 4, "CosineAnnealingLR": 4},
    **{"LinearLR": 5, "CosineAnnealingWarmRestarts": 5, "ReduceLROnPlateau": 9, "CyclicLR": 13, "OneCycleLR": 14},
}
REFUSED = "{}(verbose=) raises a TypeError today"
LEFT_OUT = f"{REFUSED}: torch's schedulers do not print any more; left out."
PRINT = "Leave it out, and print scheduler.get_last_lr() where the script wants to see the rate."


@codemod("lr_scheduler")
def scheduler_verbose(context: Context) -> None:
    """Leaves the argument out, or tells of one that a scheduler gets in another way."""
    module = context.module
    if not context.takes_current_libraries:
        return
    calls = [*module.calls_if(lambda name: name.startswith(SCHEDULERS)), *module.calls(PARTIAL)]
    calls += [call for call in module.of_type(ast.Call) if unpacked_dicts(call)]
    for call in dict.fromkeys([*calls, *(call for call, _ in module.keywords(ARGUMENT))]):
        above = 1 if called_name(module, call) == PARTIAL and call.args else 0
        made = call.args[0] if above else call.func
        if (name := _scheduler(module.origins(made))) is not None:
            _leave_out(context, call, name, above)
        elif (name := _one_of_several(module, made)) is not None:
            keyword = keyword_named(call, ARGUMENT)
            _tell(context, call, name, keyword.value if keyword is not None else None, above)
    for call, name, above in _calls_of_base(module):
        keyword = keyword_named(call, ARGUMENT)
        _tell(context, call, name, keyword.value if keyword is not None else None, above)


def _scheduler(classes: list[Source]) -> str | None:
    """The class of torch's schedulers that something is in each of the cases in which it can be called; else None."""
    names = [source.module.qualified(source.node) or "" for source in classes if not is_none(source.node)]
    is_known = bool(names) and all(name.startswith(SCHEDULERS) for name in names)
    return names[0].rpartition(".")[2] if is_known else None


def _one_of_several(module: Module, made: ast.expr) -> str | None:
    """The first of torch's classes where there are others too, or one is looked up: `SCHEDULERS[name]`.

    Another file may add others to those that are looked up.
    """
    classes = [*module.origins(made)]
    classes += [item for source in classes for item in origins_of_items(source)]
    return next((name for one in classes if (name := _scheduler([one])) is not None), None)


def _leave_out(context: Context, call: ast.Call, name: str, above: int) -> None:
    """Leaves out what a call has by its name, and tells of what comes in another way.

    Args:
        context: The file.
        call: What makes a scheduler.
        name: The class of the scheduler.
        above: How many arguments of the call are none of the scheduler's.
    """
    keyword = keyword_named(call, ARGUMENT)
    given = None
    if keyword is not None and any(isinstance(part, ast.NamedExpr) for part in ast.walk(keyword.value)):
        given = keyword.value  # `verbose=(shown := True)`: the name may be read
    elif keyword is not None and not is_guarded(context.module, keyword, ARGUMENT):
        if context.converts(RM693, keyword, LEFT_OUT.format(name)):
            context.plan.call(call).remove.add(ARGUMENT)
    _tell(context, call, name, given, above)


def _calls_of_base(module: Module) -> Iterator[tuple[ast.Call, str, int]]:
    """Where a scheduler of the script's own calls the constructor of one of torch's; see `_leave_out`."""
    for call, _ in module.method_calls("__init__"):
        base = next(iter(constructors(module, call)), None)
        if isinstance(base, str) and base.startswith(SCHEDULERS):
            yield call, base.rpartition(".")[2], int(is_given_object(call))


def _tell(context: Context, call: ast.Call, name: str, given: ast.expr | None, above: int) -> None:
    """Tells of the argument where it has no name, or stands in a dict that is unpacked; of `given` too."""
    module = context.module
    if name in PLACES:
        given = given or argument(call, PLACES[name] + above)
    if given is not None and not is_guarded(module, call, ARGUMENT):
        context.manual(RM693, given, f"{REFUSED.format(name)}.", PRINT)
    for unpacked in unpacked_dicts(call):
        if any(entry.name == ARGUMENT for entry in carried(module, unpacked).entries):
            context.manual(RM693, unpacked, f"{REFUSED.format(name)}, and this dict has it.", PRINT)
