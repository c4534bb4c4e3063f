"""RM693: verbose= of torch's learning rate schedulers, which printed a line where the rate changed.

torch 2.13 (optim/lr_scheduler.py) has the argument in none of them: a TypeError.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.gone.rescan import RM693
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
BASES = (f"{SCHEDULERS}LRScheduler", f"{SCHEDULERS}_LRScheduler")
OF_BASE = 2  # its place there, behind the optimizer and last_epoch
REFUSED = "{}(verbose=) raises a TypeError today"
LEFT_OUT = f"{REFUSED}: torch's schedulers do not print any more; left out."
PRINT = "Leave it out, and print scheduler.get_last_lr() where the script wants to see the rate."


@codemod("lr_scheduler")
def scheduler_verbose(context: Context) -> None:
    """Leaves the argument out, or tells of one that a scheduler gets in another way."""
    module = context.module
    if not context.takes_current_libraries:
        return
    for call in module.calls_if(lambda name: name.startswith(SCHEDULERS)):
        shown = called_name(module, call).rpartition(".")[2]
        keyword = keyword_named(call, ARGUMENT)
        if keyword is not None and not is_guarded(module, keyword, ARGUMENT):
            if context.converts(RM693, keyword, LEFT_OUT.format(shown)):
                context.plan.call(call).remove.add(ARGUMENT)
        for unpacked in unpacked_dicts(call):
            if any(entry.name == ARGUMENT for entry in carried(module, unpacked).entries):
                context.manual(RM693, unpacked, f"{REFUSED.format(shown)}, and this dict has it.", PRINT)
    for definition in module.of_type(ast.ClassDef):
        if any(module.qualified(base) in BASES for base in definition.bases):
            for part in ast.walk(definition):
                if is_method_call(part, "__init__") and _is_of_super(part.func.value):
                    _tell_base(context, part)


def _is_of_super(owner: ast.expr) -> bool:
    return isinstance(owner, ast.Call) and last_name(owner.func) == "super"


def _tell_base(context: Context, call: ast.Call) -> None:
    """Tells of a scheduler of the script's own that hands the argument to torch's base class."""
    given = argument(call, OF_BASE, ARGUMENT)
    if given is not None and not has_unpacking(call) and not is_guarded(context.module, call, ARGUMENT):
        context.manual(RM693, given, f"{REFUSED.format('LRScheduler')}.", PRINT)
