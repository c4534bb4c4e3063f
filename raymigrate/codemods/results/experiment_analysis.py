"""RM604, for ExperimentAnalysis: the folder of a trainer's run is not an experiment of Tune today.

It looks for the snapshot that Tune writes, and raises a ValueError without one (Ray 2.60
tune/analysis/experiment_analysis.py, `__init__`). Under legacy Ray a trainer's run was an experiment of one trial.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.results.results import RM604
from raymigrate.facts.projects.places import TAKE_TRAINABLES
from raymigrate.facts.ray_train.results import trainers_of
from raymigrate.facts.ray_train.run_folders import results_of_folder, texts
from raymigrate.facts.ray_train.runs import name_of_run
from raymigrate.facts.ray_tune.trials import ANALYSES, ANALYZED
from raymigrate.facts.ray_tune.tuners import RUN_CONFIGS
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, argument
from raymigrate.knowledge.legacy import TORCH_TRAINERS, TRAINERS

MESSAGE = "ExperimentAnalysis raises a ValueError for the folder of a trainer's run: it is not a Tune experiment today."
IF_OF_RUN = (
    "If this is the folder of a trainer's run, ExperimentAnalysis raises a ValueError: it is not an experiment today."
)
ADVICE = (
    "Read what fit() gives, or ray.train.Result.from_path(folder) of a new run: best_checkpoints, metrics_dataframe and"
    " get_best_checkpoint() take the place of trials."
)


@codemod("ExperimentAnalysis", phase=Phase.RESULTS)
def experiment_analysis(context: Context) -> None:
    """Reports analyses of folders that are those of a trainer's run, or may be where a file has no Tuner."""
    module = context.module
    trains = any(module.calls(*TRAINERS, *TORCH_TRAINERS))
    tunes = any(module.calls(*TAKE_TRAINABLES))
    for call in module.calls(*ANALYSES):
        folder = argument(call, 0, *ANALYZED)
        if folder is None or not trains:
            continue
        if _is_of_result(module, folder) or (not tunes and _ends_with_name(module, folder)):
            context.manual(RM604, call, MESSAGE, ADVICE)
        elif not tunes and context.of_legacy_job:
            context.manual(RM604, call, IF_OF_RUN, ADVICE)


def _is_of_result(module: Module, folder: ast.expr) -> bool:
    """Whether a folder is that of a trainer's result, or lies around it."""
    results = results_of_folder(Source(module, folder))
    return any(trainers_of(result.module, result.node) - {None} for result in results)


def _ends_with_name(module: Module, folder: ast.expr) -> bool:
    """Whether the last part of a path is the name of a run."""
    given = (name_of_run(module, config)[1] for config in module.calls(*RUN_CONFIGS))
    names = {module.constant(name) for name in given if name is not None} - {None, ...}
    return any(texts(source).rpartition("/")[2] in names for source in module.origins(folder))
