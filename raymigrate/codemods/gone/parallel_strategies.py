"""RM693: wrap_ddp= and ddp_kwargs= of Ray's prepare_model(), which Ray 2.3 made parallel_strategy= and its arguments.

The third argument was wrap_ddp too, up to 2.2. Today anything else than None, False and "ddp" is FSDP there (2.60
train/v2/torch/train_loop_utils.py, `prepare_model`): True by position is taken in silence.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.gone.rescan import RM693
from raymigrate.facts.projects.unpacked_options import carried_from_callers
from raymigrate.facts.syntax.guards import is_asked_for, is_guarded
from raymigrate.facts.syntax.named_lines import line_of_file
from raymigrate.facts.torch.wrapped_models import POSITION, STRATEGY
from raymigrate.facts.values import has_unpacking, keyword_named, unpacked_dicts

PREPARE_MODEL = "ray.train.torch.prepare_model"
ITS_ARGUMENTS = "parallel_strategy_kwargs"
FORMER = {
    "wrap_ddp": "Give parallel_strategy=None where it was False, and leave it out where it was True.",
    "ddp_kwargs": f"{ITS_ARGUMENTS}= took its place.",
}
REFUSED = "prepare_model({}=) is refused today; now {}."
STRATEGY_SINCE = (2, 3)  # of Ray
IS_FSDP = "The third argument of prepare_model() is parallel_strategy today, where True is FSDP"
MAY_BE_FSDP = "The third argument of prepare_model() was wrap_ddp up to Ray 2.2, and is parallel_strategy today"
BY_NAME = 'If it is True or False: give parallel_strategy="ddp" where it is True, and None where it is False.'
AS_BEFORE = 'It is so since Ray 2.3. Write "ddp", if DistributedDataParallel is meant, or "fsdp".'


@codemod("prepare_model")
def parallel_strategies(context: Context) -> None:
    """Says whether a model is wrapped in DistributedDataParallel, and how, as prepare_model() takes it today."""
    for call in context.module.calls(PREPARE_MODEL):
        others = {keyword.arg for keyword in call.keywords}
        wraps, its_arguments = keyword_named(call, "wrap_ddp"), keyword_named(call, "ddp_kwargs")
        if wraps is not None and not others & {STRATEGY, None}:
            _wrap(context, call, wraps)
        elif len(call.args) > POSITION and not has_unpacking(call):
            _third(context, call.args[POSITION])
        if its_arguments is not None and not others & {ITS_ARGUMENTS, None}:
            if _converts(context, its_arguments, f"{ITS_ARGUMENTS}="):
                context.plan.call(call).rename["ddp_kwargs"] = ITS_ARGUMENTS
        for unpacked in unpacked_dicts(call):
            _tell_unpacked(context, unpacked)


def _tell_unpacked(context: Context, unpacked: ast.expr) -> None:
    """Tells of what a call gets out of a dict."""
    for entry in carried_from_callers(context.module, unpacked).entries:
        if entry.name in FORMER and not is_asked_for(entry.module, entry.key, entry.name):
            is_here = entry.module is context.module
            written = "" if is_here else f", which {line_of_file(entry.module, entry.key)} writes,"
            message = f"prepare_model({entry.name}=){written} is refused today."
            context.manual(RM693, entry.key if is_here else unpacked, message, FORMER[entry.name])


def _third(context: Context, given: ast.expr) -> None:
    """Deals with the argument of the place that wrap_ddp had: code for Ray >= 2.3 did not mean that one."""
    known = context.module.constant(given)
    written = context.from_ray
    if any(isinstance(source.module.constant(source.node), str) for source in context.module.origins(given)):
        return  # a strategy by its name, in one of the cases
    if known is True and written.lowest >= STRATEGY_SINCE:
        context.manual(RM693, given, f"{IS_FSDP}.", AS_BEFORE)
    elif known is True:
        if context.converts(RM693, given, f'{IS_FSDP}; now "ddp".'):
            context.plan.replace(given, '"ddp"')
    elif known is ... and written.surely_before(STRATEGY_SINCE):
        if context.converts(RM693, given, f'{MAY_BE_FSDP}; now "ddp" where it is true.'):
            context.plan.replace(given, '"ddp" if $asked else None', asked=given)
    elif known is ... and written.lowest < STRATEGY_SINCE:
        context.manual(RM693, given, f"{MAY_BE_FSDP}, where True is FSDP.", BY_NAME)


def _wrap(context: Context, call: ast.Call, wraps: ast.keyword) -> None:
    known = context.module.constant(wraps.value)
    if not _converts(context, wraps, "left out, as that is so by default" if known is True else f"{STRATEGY}="):
        return
    edit = context.plan.call(call)
    if known is True:
        edit.remove.add("wrap_ddp")
        return
    edit.rename["wrap_ddp"] = STRATEGY
    if known in (False, None):
        edit.set(STRATEGY, "None")
    else:
        edit.set(STRATEGY, '"ddp" if $asked else None', asked=wraps.value)


def _converts(context: Context, keyword: ast.keyword, now: str) -> bool:
    """Whether an argument is to be replaced: not where the script looks first which one there is."""
    name = str(keyword.arg)
    return not is_guarded(context.module, keyword, name) and context.converts(RM693, keyword, REFUSED.format(name, now))
