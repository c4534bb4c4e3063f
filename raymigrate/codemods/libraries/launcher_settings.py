"""RM766: accelerate's settings for its launcher, made in code without debug=.

docs/semantics/legacy-accelerate.md#made-in-code
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.facts.syntax.guards import is_guarded
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name, has_starred, unpacked_dicts, written
from raymigrate.facts.values.carried import carried

RM766 = Rule(
    "RM766",
    "settings for accelerate's launcher, made in code",
    "ClusterConfig(...) without debug= raises a TypeError: accelerate asks for it since 0.23.",
    "debug=False is added: before, accelerate ran without the checks that debug= turns on.",
    "https://huggingface.co/docs/accelerate/package_reference/cli",
    errors=("missing 1 required positional argument: 'debug'",),
)
OF_CONFIG = "accelerate.commands.config"
MODULES = (OF_CONFIG, *(f"{OF_CONFIG}.{name}" for name in ("cluster", "config_args", "default", "sagemaker")))
CLASSES = tuple(f"{module}.{name}" for module in MODULES for name in ("ClusterConfig", "SageMakerConfig"))
ARGUMENT = "debug"
PLACE = 4  # of debug today, by position; num_processes was there
SHIFTED = "{} takes the fifth argument by position for debug= today: it was num_processes."
BY_NAME = "Give num_processes= and what comes after it by keyword, with debug=False."
LACKS = "{}(...) without debug= raises a TypeError today; now debug=False"


@codemod("ClusterConfig", "SageMakerConfig", phase=Phase.LIBRARIES)
def launcher_settings(context: Context) -> None:
    """Gives `ClusterConfig(...)` the argument that it asks for."""
    module = context.module
    for call in module.calls(*CLASSES):
        name = called_name(module, call).rpartition(".")[2]
        lacks = _lacks_it(module, call)
        if is_guarded(module, call, ARGUMENT) or lacks is False:
            continue
        if len(call.args) > PLACE:
            context.manual(RM766, call, SHIFTED.format(name), BY_NAME)
        elif context.converts(
            RM766, call, f"{LACKS.format(name)}{'' if lacks else ', unless what is unpacked has it'}."
        ):
            edit = context.plan.call(call)
            (edit.set if lacks else edit.set_default)(ARGUMENT, "False")


def _lacks_it(module: Module, call: ast.Call) -> bool | None:
    """Whether a call gives no debug; None where a dict that it unpacks may have it."""
    if has_starred(call.args):
        return False  # for all that can be seen
    if len(call.args) > PLACE:
        number = written(call.args[PLACE])
        return isinstance(number, int) and not isinstance(number, bool)
    unpacked = [carried(module, given) for given in unpacked_dicts(call)]
    names = {keyword.arg for keyword in call.keywords} | {one.name for given in unpacked for one in given.entries}
    if ARGUMENT in names:
        return False
    return True if all(given.whole for given in unpacked) else None
