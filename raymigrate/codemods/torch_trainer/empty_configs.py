"""Configurations of which nothing is left once what Train V2 refuses is gone: `RunConfig(verbose=1)`."""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.definitions import drop_definition, is_only_for
from raymigrate.facts.ray_tune.tuners import all_keywords, config_names, made
from raymigrate.facts.values import keyword_argument
from raymigrate.knowledge.legacy import TORCH_TRAINERS, TRAINERS

# A configuration of each kind, left out, is one with all its defaults (ray/train/v2/api/config.py, Ray 2.60).
PARTS = {"checkpoint_config": "CheckpointConfig", "failure_config": "FailureConfig"}


@codemod("RunConfig", phase=Phase.CALLS)
def drop_empty(context: Context) -> None:
    """Drops arguments for which the plan leaves `RunConfig()`, `CheckpointConfig()` or `FailureConfig()`."""
    module = context.module
    for call in module.calls(*config_names("RunConfig")):
        for name, config in PARTS.items():
            _drop_if_emptied(context, call, name, config)
    for call in module.calls(*TORCH_TRAINERS, *TRAINERS):
        if call in context.plan.calls or module.qualified(call.func) in TORCH_TRAINERS:
            _drop_if_emptied(context, call, "run_config", "RunConfig")


def _drop_if_emptied(context: Context, call: ast.Call, name: str, config: str) -> None:
    given = keyword_argument(call, name)
    made_here = made(context.module, given, *config_names(config))
    if given is None or made_here is None or made_here in context.tuned or not _is_emptied(context, made_here):
        return
    edit = context.plan.call(call)
    if name not in edit.values and is_only_for(context, given):
        edit.remove.add(name)
        drop_definition(context, given)
        reference = context.module.reference_at[made_here.func]
        context.handle(reference, gone=True)
        if context.module.references_by_binding[reference.binding.node] == [reference]:
            # Where its import was to move, as nothing else needs it; another import of it goes on to.
            own = ("ray.train", config, reference.binding.statement)
            context.plan.needed_imports = dict.fromkeys(n for n in context.plan.needed_imports if n != own)


def _is_emptied(context: Context, config: ast.Call) -> bool:
    """Whether a configuration had arguments, and the plan takes all of them away."""
    edit = context.plan.calls.get(config)
    if edit is None or edit.values or not config.keywords or not all_keywords(config):
        return False
    return all(keyword.arg in edit.remove for keyword in config.keywords)
