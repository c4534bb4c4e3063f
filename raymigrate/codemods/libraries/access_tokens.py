"""RM701: `use_auth_token=` of methods, and of transformers.pipeline().

It is token= since transformers 5, datasets 4 and huggingface_hub 1. Other rules look at loading functions that are
called by their name, and at the client of the Hub.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_rules import RM701
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.models import PIPELINES
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import keyword_named

ARGUMENT = "use_auth_token"
# Names that no method of something else is likely to have together with this argument.
METHODS = frozenset({"push_to_hub", "from_pretrained", "save_pretrained"})
FUNCTIONS = frozenset({*PIPELINES, "datasets.get_dataset_config_names"})


@codemod(ARGUMENT, phase=Phase.LIBRARIES)
def access_tokens(context: Context) -> None:
    """Renames the argument."""
    for call, keyword in context.module.keywords(ARGUMENT):
        if not _takes_a_token(context.module, call):
            continue
        if keyword_named(call, "token") is not None:
            message = "use_auth_token= raises a TypeError today; deleted, as token= is given."
            if context.converts(RM701, keyword, message):
                context.plan.call(call).remove.add(ARGUMENT)
        elif context.converts(RM701, keyword, "use_auth_token= raises a TypeError today; now token=."):
            context.plan.call(call).rename[ARGUMENT] = "token"


def _takes_a_token(module: Module, call: ast.Call) -> bool:
    """Whether a function is one of those libraries, and none that the script or another rule knows."""
    name = module.qualified(call.func)
    if name is not None or not isinstance(call.func, ast.Attribute):
        return name in FUNCTIONS
    return call.func.attr in METHODS
