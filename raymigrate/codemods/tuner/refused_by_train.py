"""What the RunConfig of ray.train refuses of one that a Tuner gets as well, or may get: it stays as it is."""

import ast

from raymigrate.codemods.context import Context
from raymigrate.edits.plan import CallEdit
from raymigrate.facts.legacy import CONFIG_CLASSES
from raymigrate.facts.tuners import config_names
from raymigrate.facts.values import keyword_argument
from raymigrate.knowledge.libraries import look_up, parameters, takes

FOR_EACH = "Make it a ray.tune.RunConfig for a Tuner, a ray.train.RunConfig for a trainer."


def with_configs_inside(context: Context, config: ast.Call) -> list[ast.Call]:
    """A RunConfig with the configurations that are made in it."""
    names = {name for each in CONFIG_CLASSES for name in config_names(each)}
    return [config, *(call for call in context.module.calls(*names) if context.module.inside(call, config))]


def refused_by_train(context: Context, config: ast.Call) -> str:
    """A sentence with what ray.train refuses of a RunConfig and of what is made in it; empty where it takes all."""
    refused = [f"{name}=" for call in with_configs_inside(context, config) for name in _refused(context, call)]
    callbacks = keyword_argument(config, "callbacks")
    if callbacks is not None and context.module.constant(callbacks) is not None:
        refused.append("callbacks of Tune")
    return f" That of ray.train refuses {', '.join(refused)}." if refused else ""


def _refused(context: Context, config: ast.Call) -> list[str]:
    """The arguments of a config that the class of the same name in ray.train does not take, and that stay."""
    name = (context.module.qualified(config.func) or "").rpartition(".")[2]
    taken = parameters(look_up(f"ray.train.{name}"))
    edit = context.plan.calls.get(config, CallEdit())
    gone = {None, *edit.remove, *edit.rename}
    given = [name for name in (keyword.arg for keyword in config.keywords) if name is not None and name not in gone]
    return [] if taken is None else [argument for argument in given if not takes(taken, argument)]
