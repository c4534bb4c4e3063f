"""RM405 where a trainer goes to Tune another way than `Tuner(trainer)`, and RM415: these are reported only.

Measured on Ray 2.60: Tuner.restore and tune.run raise a TuneError for a trainer, with_resources and with_parameters a
ValueError, and trainer.as_trainable() an AttributeError.
"""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.tuner.tuner import RM405
from raymigrate.facts.projects.places import Place
from raymigrate.facts.ray_tune.tuned_trainers import may_be_trainer
from raymigrate.facts.ray_tune.tuners import TUNERS, TunerCall
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name

RM415 = Rule(
    "RM415",
    "the name of the experiment on the workers of a trial",
    "Under a Tuner each trial fits a run of its own: on a worker get_experiment_name() gives the name of that run, and"
    " no longer the Tuner's.",
    "Put the name into train_loop_config.",
    "https://docs.ray.io/en/latest/train/user-guides/hyperparameter-optimization.html",
)
WAYS = {
    **{f"{tuner}.restore": "Tuner.restore(trainable=trainer)" for tuner in TUNERS},
    "ray.tune.with_resources": "tune.with_resources(trainer)",
    "ray.tune.with_parameters": "tune.with_parameters(trainer)",
    "ray.tune.run": "tune.run(trainer)",
}
MESSAGE = "{way} takes functions on Ray >= 2.51, and raises for a trainer; not converted."
EXPERIMENT_NAMES = ("ray.air.session.get_experiment_name", "ray.train.get_context")
# This tool writes get_context().get_experiment_name() for get_trial_name() too, so that a later run can't tell.
IF_OF_TUNER = (
    "If it is to be the Tuner's name, put that into train_loop_config. It is right where the name of the trial is"
    " meant: raymigrate writes it for get_trial_name() and get_trial_id() too."
)


@codemod("restore", "with_resources", "with_parameters", "run", "as_trainable", phase=Phase.TRIALS)
def other_ways(context: Context) -> None:
    """Names the places where a trainer is wrapped, restored, or made a trainable."""
    module = context.module
    for call in module.calls(*WAYS):
        if any(may_be_trainer(module, node) for node in _arguments(call)):
            way = WAYS[called_name(module, call)]
            context.manual(RM405, call, MESSAGE.format(way=way))
    for node in module.attributes("as_trainable"):
        if may_be_trainer(module, node.value):
            context.manual(
                RM405, node, "A trainer has no as_trainable() on Ray >= 2.51: this raises an AttributeError."
            )


def _arguments(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args
    yield from (keyword.value for keyword in call.keywords)


@codemod("get_experiment_name", phase=Phase.TRIALS)
def experiment_names(context: Context) -> None:
    """Names readers of the experiment's name on workers whose run is a Tuner's trial."""
    module = context.module
    if not any(TunerCall(module, call).trainer for call in module.calls(*TUNERS)):
        return
    for reference in module.references:
        if reference.qualified in EXPERIMENT_NAMES and context.places.of(reference.root) is Place.WORKER:
            of_context = reference.qualified == "ray.train.get_context"
            if not of_context or _asks_for_the_name(module, reference.node):
                message = "Here get_experiment_name() gives the name of the trial's run."
                context.manual(RM415, reference.node, message, IF_OF_TUNER if of_context else RM415.fix)


def _asks_for_the_name(module: Module, node: ast.AST) -> bool:
    method = module.parent_of[module.parent_of[node]]
    return isinstance(method, ast.Attribute) and method.attr == "get_experiment_name"
