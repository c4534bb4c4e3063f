"""RM405: the scaling configuration that a trial's result holds, which is a dict where the Tuner draws from it."""

import ast
from collections.abc import Collection, Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.facts.projects.callers import is_used_elsewhere
from raymigrate.facts.ray_tune.trials import tuners_of
from raymigrate.facts.ray_tune.tuners import TunerCall
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import keyword_named

SCALING = "scaling_config"
IS_DICT = f'config["{SCALING}"] of a result is a dict now, of what the search space gives'
OF_ONE = f'config["{SCALING}"] is a dict now where the result is of a Tuner that is converted here'


def read_tried_scaling(context: Context, rule: Rule, tuners: Collection[TunerCall]) -> None:
    """Lets readers of `result.config["scaling_config"]` find what they ask for, or reports them.

    Args:
        context: The module.
        rule: The rule of the conversion.
        tuners: The Tuners that are converted.
    """
    module = context.module
    tuned: dict[ast.AST, ast.Call] = {t.node: scaling for t in tuners if (scaling := t.tuned_scaling) is not None}
    items: dict[ast.expr, list[ast.Call | None]] = {}
    for item, result in _items(module) if tuned else ():
        found = [tuned.get(source.node) if source is not None else None for source in tuners_of(module, result)]
        if isinstance(module.definition(result), ast.arg) and is_used_elsewhere(module, item):
            found.append(None)
        if any(found):
            items[item] = found
    for _, given in module.keywords(SCALING) if items else ():
        if (one := module.value(given.value)) in items:
            message = OF_ONE if None in items[one] else IS_DICT
            advice = "Write ray.train.ScalingConfig(**...) around it."
            context.manual(rule, given.value, f"{message}: a trainer takes no dict here.", advice)
    for use in module.of_type(ast.Attribute) if items else ():
        if (one := module.value(use.value)) in items:
            _read(context, rule, use, items[one])


def _items(module: Module) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What is taken out of the `config` of something by the name of the scaling configuration, with that something."""
    found = [(item, item.value, item.slice) for item in module.of_type(ast.Subscript)]
    gets = [(call, method.value, call.args[0]) for call, method in module.method_calls("get") if call.args]
    for item, owner, key in (*found, *gets):
        config = module.value(owner)
        if isinstance(config, ast.Attribute) and config.attr == "config" and module.constant(key) == SCALING:
            yield item, config.value


def _read(context: Context, rule: Rule, use: ast.Attribute, tuned: list[ast.Call | None]) -> None:
    """Makes an attribute of what the Tuners have drawn an entry of it."""
    if None in tuned:
        advice = f'Ask it for ["{use.attr}"] where it is a dict.'
        context.manual(rule, use, f"{OF_ONE}: reading {use.attr} of it raises an AttributeError.", advice)
    elif not all(scaling is not None and keyword_named(scaling, use.attr) for scaling in tuned):
        advice = "Make a ray.train.ScalingConfig(**...) of it and ask that."
        context.manual(rule, use, f"{IS_DICT}: reading {use.attr} of it raises an AttributeError.", advice)
    elif context.converts(rule, use, f'{IS_DICT}; now ["{use.attr}"].'):
        context.plan.replace(use, f'$item["{use.attr}"]', item=use.value)
