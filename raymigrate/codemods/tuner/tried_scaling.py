"""RM405: the scaling configuration that a trial's result holds, which is a dict where the Tuner draws from it."""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.facts.ray_tune.trials import tuners_of
from raymigrate.facts.ray_tune.tuners import TunerCall
from raymigrate.facts.values import keyword_named

SCALING = "scaling_config"
IS_DICT = f'config["{SCALING}"] of a result is a dict now, of what the search space gives'


def read_tried_scaling(context: Context, rule: Rule, tuner: TunerCall) -> None:
    """Lets readers of `result.config["scaling_config"]` find what they ask for, or reports them.

    Args:
        context: The module.
        rule: The rule of the conversion.
        tuner: A Tuner that is converted.
    """
    module, tuned = context.module, tuner.tuned_scaling
    if tuned is None:
        return
    for read in module.attributes("config"):
        item = module.parent_of[read]
        if not isinstance(item, ast.Subscript) or item.value is not read or module.constant(item.slice) != SCALING:
            continue
        if all(source is None or source.node is not tuner.node for source in tuners_of(module, read.value)):
            continue
        use = module.parent_of[item]
        if isinstance(use, ast.keyword) and use.arg == SCALING:
            advice = "Write ray.train.ScalingConfig(**...) around it."
            context.manual(rule, item, f"{IS_DICT}: a trainer takes no dict here.", advice)
        elif isinstance(use, ast.Attribute) and keyword_named(tuned, use.attr) is None:
            advice = "Make a ray.train.ScalingConfig(**...) of it and ask that."
            context.manual(rule, use, f"{IS_DICT}: reading {use.attr} of it raises an AttributeError.", advice)
        elif isinstance(use, ast.Attribute) and context.converts(rule, use, f'{IS_DICT}; now ["{use.attr}"].'):
            context.plan.replace(use, f'$item["{use.attr}"]', item=item)
