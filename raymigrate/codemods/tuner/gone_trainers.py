"""What goes to an RLTrainer or a SklearnTrainer, which are gone: see RM692 at their imports.

No trainer of today is to take their place, so that what Train V2 refuses or ignores says nothing of their
configurations: a Tuner takes the stop= and the checkpoint_frequency= that an RLTrainer had.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.tuner.tuner_config import run_configs
from raymigrate.facts.ray_tune.tuners import config_names, made, only_use
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, keyword_argument
from raymigrate.knowledge.legacy import CONFIG_CLASSES, RL_TRAINERS, SKLEARN_TRAINERS

GONE = RL_TRAINERS | SKLEARN_TRAINERS
NESTED = {"checkpoint_config": "CheckpointConfig", "failure_config": "FailureConfig"}


@codemod("RLTrainer", "SklearnTrainer", phase=Phase.TRIALS, after=[run_configs])
def configurations(context: Context) -> None:
    """Leaves configurations as they are that nothing but such a trainer is given, or can be."""
    module = context.module
    calls = list(module.calls(*GONE))
    if calls and not _has_others(module):
        context.tuned.update(module.calls(*(path for name in CONFIG_CLASSES for path in config_names(name))))
    for call in calls:
        run = _only_here(module, argument(call, 3, "run_config"), "RunConfig")
        found = [run, _only_here(module, argument(call, 2, "scaling_config"), "ScalingConfig")]
        given = {name: keyword_argument(run, name) for name in NESTED} if run is not None else {}
        found += [_only_here(module, value, NESTED[name]) for name, value in given.items()]
        context.tuned.update(config for config in found if config is not None)


def _has_others(module: Module) -> bool:
    """Whether a file uses trainers or Tuners that take a configuration too."""
    names = {reference.qualified.removesuffix(".restore") for reference in module.references_within("ray")}
    return any(name not in GONE and name.rpartition(".")[2].endswith(("Trainer", "Tuner")) for name in names)


def _only_here(module: Module, given: ast.expr | None, name: str) -> ast.Call | None:
    """The construction of a configuration that nothing else gets."""
    return made(module, given, *config_names(name)) if given is not None and only_use(module, given) else None
