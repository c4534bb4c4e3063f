"""RM608, where something else than the result of a trial reads its checkpoints: folders, loggers, ExperimentAnalysis.

The checkpoints are in the folder of the run that the trial starts. Read in Ray 2.60: air/integrations/mlflow.py:333
uploads the folder of the trial, wandb.py:754 and comet.py:229 beside it the checkpoint, where the trial has one;
tune/analysis/experiment_analysis.py knows the checkpoints that were reported to Tune.
"""

import ast
from collections.abc import Iterator

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.results.listed_checkpoints import searches
from raymigrate.codemods.tuner.tuner_config import run_config_in_force
from raymigrate.codemods.tuner.tuner_results import ANY_OF_THEM, RM608, fits_a_trainer, fitted_trainers
from raymigrate.facts.ray_train.run_folders import results_of_folder
from raymigrate.facts.ray_tune.trials import ANALYSES, tuners_of, tuners_of_grid
from raymigrate.facts.ray_tune.tuned_trainers import may_be_trainer
from raymigrate.facts.ray_tune.tuners import RUN_CONFIGS, TUNERS, TunerCall, made
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, argument, called_name, is_none, keyword_argument, seen_items, written

# Loggers of Tune, and the arguments that let them upload checkpoints.
UPLOADS = {
    "MLflowLoggerCallback": ("save_artifact",),
    "WandbLoggerCallback": ("upload_checkpoints", "save_checkpoints"),
    "CometLoggerCallback": ("save_checkpoints",),
}
AT_THE_RUN = (
    "Upload them yourself: in the function that the Tuner gets, after fit(), from the folder result.path of that run,"
    " or from rank 0 of the training function."
)
# What an ExperimentAnalysis has of checkpoints, and what comes of it where no trial has any.
OF_ANALYSIS = {
    "best_checkpoint": "is None",
    "get_best_checkpoint": "returns None",
    "get_last_checkpoint": "returns None",
    "get_trial_checkpoints_paths": "is gone, and there are no such checkpoints",
}
FOLDER = "The folder of a trial that fits a trainer holds no checkpoints on Ray >= 2.51"


@codemod("glob", "rglob", "iglob", "listdir", "scandir", "iterdir", "from_path", phase=Phase.TRIALS)
def trial_folders(context: Context) -> None:
    """Reports searches for checkpoints in the folder of a trial, and results that are read from it."""
    module = context.module
    for search in searches(module):
        if are_of_trials(context, search.results):
            context.manual(RM608, search.node, f"{FOLDER}.", ANY_OF_THEM)
    for call in module.calls("ray.tune.Result.from_path"):
        path = argument(call, 0, "path")
        if path is not None and are_of_trials(context, results_of_folder(Source(module, path))):
            context.manual(RM608, call, f"{FOLDER}: from_path() finds none.", ANY_OF_THEM)


def are_of_trials(context: Context, results: list[Source]) -> bool:
    """Whether one of several results is of a trial that fits a trainer."""
    tuners = [tuner for result in results for tuner in tuners_of(result.module, result.node)]
    return any(tuner is not None and fitted_trainers(context, tuner) for tuner in tuners)


@codemod("Tuner", phase=Phase.TRIALS)
def uploaded_checkpoints(context: Context) -> None:
    """Reports loggers of a Tuner that are to upload the checkpoints of trials."""
    module = context.module
    for call in module.calls(*TUNERS):
        if fitted_trainers(context, Source(module, call)):
            for logger in _loggers(TunerCall(module, call)):
                _uploads(context, call, logger)


def _loggers(tuner: TunerCall) -> Iterator[Source]:
    """What makes the callbacks of a Tuner's RunConfig, as far as they are seen."""
    config = made(tuner.module, run_config_in_force(tuner), *RUN_CONFIGS)
    callbacks = keyword_argument(config, "callbacks") if config is not None else None
    for listed in tuner.module.origins(callbacks):
        for item in seen_items(listed.module, listed.node):
            yield from listed.module.origins(item)


def _uploads(context: Context, tuner: ast.Call, logger: Source) -> None:
    """Reports the arguments of a logger that find no checkpoints, where they may be true.

    Args:
        tuner: The Tuner, which is named where the logger is made in another file.
        logger: What makes it.
    """
    call = logger.node
    name = called_name(logger.module, call)
    if not isinstance(call, ast.Call) or not name.startswith(("ray.air.", "ray.tune.")):
        return
    kind = name.rpartition(".")[2]
    for keyword in call.keywords:
        if keyword.arg in UPLOADS.get(kind, ()) and written(keyword.value) is not False and not is_none(keyword.value):
            message = (
                f"{kind}({keyword.arg}=) uploads no checkpoints on Ray >= 2.51: a trial that fits a trainer has none."
            )
            context.manual(RM608, keyword if logger.module is context.module else tuner, message, AT_THE_RUN)


@codemod(*OF_ANALYSIS, phase=Phase.TRIALS)
def analyses(context: Context) -> None:
    """Reports the checkpoints that an ExperimentAnalysis is asked for, where trials fit a trainer."""
    module = context.module
    for read in module.attributes(*OF_ANALYSIS):
        given = [source for source in module.origins(read.value) if not is_none(source.node)]
        found = {_is_analysis_of_trainers(context, source) for source in given}
        if found - {None}:  # what a function gets may be of other trials too, which have checkpoints
            unless, then = ("", "The") if found == {True} else ("If these trials fit a trainer: ", "Then the")
            message = f"{unless}{read.attr} of an ExperimentAnalysis {OF_ANALYSIS[read.attr]} on Ray >= 2.51."
            advice = f'{then} path of the last one is under "checkpoint_path" in best_result.'
            context.manual(RM608, read, message, advice)


def _is_analysis_of_trainers(context: Context, analysis: Source) -> bool | None:
    """Whether a value is the analysis of trials that fit a trainer; False where they may, None where it is none."""
    module, node = analysis.module, analysis.node
    if isinstance(node, ast.Attribute) and node.attr == "_experiment_analysis":
        tuners = tuners_of_grid(module, node.value)
        return True if any(tuner is not None and fitted_trainers(context, tuner) for tuner in tuners) else None
    name = called_name(module, node)
    if name == "ray.tune.run":
        assert isinstance(node, ast.Call)
        given = argument(node, 0, "run_or_experiment")
        return True if given is not None and _is_of_trainer(module, given) else None
    return False if name in ANALYSES and context.of_legacy_job else None


def _is_of_trainer(module: Module, trainable: ast.expr) -> bool:
    """Whether tune.run() gets a trainer, or a function that fits one."""
    asked = module.value(trainable)
    method = asked.func if isinstance(asked, ast.Call) else None
    if isinstance(method, ast.Attribute) and method.attr == "as_trainable":
        return may_be_trainer(module, method.value)
    return may_be_trainer(module, trainable) or fits_a_trainer(module, trainable)
