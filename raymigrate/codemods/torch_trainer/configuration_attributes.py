"""RM401, RM402, RM404: attributes of a configuration that are set once it was constructed, and that nothing reads."""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.torch_trainer.former_folders import STORAGE
from raymigrate.codemods.torch_trainer.storage import RM401, RM402
from raymigrate.codemods.torch_trainer.train_v2_arguments import REFUSED, RM404, STOP
from raymigrate.facts.ray_tune.tuners import config_names
from raymigrate.knowledge.legacy import CONFIG_CLASSES

STORED = "Give RunConfig(storage_path=) an absolute path or a URI when it is constructed."


@codemod(*CONFIG_CLASSES, phase=Phase.CONFIGURATION)
def configuration_attributes(context: Context) -> None:
    """Reports values that go into a RunConfig, ScalingConfig, CheckpointConfig or FailureConfig and no further."""
    for name in CONFIG_CLASSES:
        for attribute in sorted(REFUSED[name] - {"callbacks"}):  # those are for RM408
            for stored in context.module.stores(attribute):
                if _may_be(context, stored.value, name):
                    _report(context, name, stored)


def _may_be(context: Context, node: ast.expr, name: str) -> bool:
    """Whether a value is an object of a configuration class, in one of the cases at least."""
    found = (source.node for source in context.module.origins(node))
    names = config_names(name)
    calls = [call for call in found if isinstance(call, ast.Call)]
    return any(context.module.qualified(call.func) in names and call not in context.tuned for call in calls)


def _report(context: Context, name: str, stored: ast.Attribute) -> None:
    silent = f"Nothing reads {stored.attr} of a {name} on Ray >= 2.51, and no error says so"
    if stored.attr in STORAGE:
        context.manual(RM402, stored, f"{silent}: results go to the default folder.", STORED)
    elif stored.attr == "stop":
        context.manual(RM404, stored, f"{silent}: the run does not stop there.", STOP)
    else:
        context.manual(RM401, stored, f"{silent}.", "Delete the line.")
