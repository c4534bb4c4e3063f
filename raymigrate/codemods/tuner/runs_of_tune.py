"""RM411 for a CheckpointConfig that `ray.tune.run()` or an `Experiment` gets without a Tuner.

Run on Ray 2.60: Experiment("x", f, checkpoint_config=ray.train.CheckpointConfig(num_to_keep=1)) raises "ValueError:
'checkpoint_at_end' cannot be used with a function trainable", since that of ray.train has a text in the field.
"""

import ast
from collections.abc import Iterator

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.tune_name import tune_name
from raymigrate.codemods.tuner.tuner_config import RM411, run_configs, to_tune
from raymigrate.facts.ray_tune.searches import searches
from raymigrate.facts.ray_tune.tuners import config_names, made, only_use
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import keyword_argument
from raymigrate.facts.values.keys import unpacked_value
from raymigrate.facts.values.partials import PARTIAL, function_of

RUNS = ("ray.tune.run", "ray.tune.tune.run", "ray.tune.Experiment", "ray.tune.experiment.Experiment")
ARGUMENT = "checkpoint_config"
KIND = "CheckpointConfig"
NAMES = config_names(KIND)
OF_RUN = "A run of Tune takes the CheckpointConfig of ray.tune on Ray >= 2.51, and fails with that of ray.train."
SHARED = f"{OF_RUN} More than one run gets this, or it is handed on by a function or in a dict."
ADVICE = "Make a ray.tune.CheckpointConfig in the call of the run itself; a trainer that gets this too keeps it."


@codemod(ARGUMENT, phase=Phase.TRIALS, after=[run_configs])
def checkpoints_of_runs(context: Context) -> None:
    """Makes Tune's own what a run of Tune gets as CheckpointConfig, or tells that it is not."""
    module = context.module
    for call in _runs(module):
        given = keyword_argument(call, ARGUMENT)
        config = made(module, given, *NAMES)
        if given is None or config is None or not only_use(module, given):
            _tell(context, given or unpacked_value(module, call, ARGUMENT))
        elif config not in context.tuned and context.converts(RM411, config, OF_RUN):
            to_tune(context, config, tune_name(context, config.func), KIND)


def _runs(module: Module) -> Iterator[ast.Call]:
    """The calls that give their `checkpoint_config=` to Tune."""
    yield from module.calls(*RUNS)
    yield from (call for call in module.calls(PARTIAL) if module.qualified(function_of(module, call)) in RUNS)
    yield from (search.call for search in searches(module))


def _tell(context: Context, given: ast.expr | None) -> None:
    """Reports each CheckpointConfig of this file that a run may get, and others may too."""
    for source in context.module.origins(given):
        config = source.node
        if source.module is not context.module or not isinstance(config, ast.Call) or config in context.tuned:
            continue
        if context.module.qualified(config.func) in NAMES:
            context.manual(RM411, config, SHARED, ADVICE)
            context.tuned.add(config)
