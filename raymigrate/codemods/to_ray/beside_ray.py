"""RM802: scripts that import Ray for something else, and train without it: `--to-ray` moves nothing of them."""

import ast

from raymigrate.base.words import few
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.all_workers import functions_of
from raymigrate.codemods.to_ray.refusals import RM802, SEARCHES
from raymigrate.codemods.to_ray.started_elsewhere import is_run_by_ray
from raymigrate.codemods.to_ray.trainer_calls import Training
from raymigrate.facts.syntax.module import Module

# What a script names of Ray where it runs no code of its own there: neither on workers, nor in trials or tasks.
SPACES = (
    *("choice", "uniform", "quniform", "loguniform", "qloguniform", "randn", "qrandn", "randint", "qrandint"),
    *("lograndint", "qlograndint", "grid_search", "sample_from", "schedulers", "search", "CLIReporter"),
    "JupyterNotebookReporter",
)
BESIDE = (
    *("ray.init", "ray.shutdown", "ray.is_initialized", "ray.cluster_resources", "ray.available_resources"),
    *("ray.nodes", "ray.data", *(f"ray.tune.{name}" for name in SPACES)),
)
WITHOUT_RAY = "This trains without Ray, which the script uses for something else ({}): nothing of it moves."
ADVICE = (
    "Take what uses Ray out of this file, to another one where it is needed, and run raymigrate --to-ray again; or"
    " give the training to a TorchTrainer by hand."
)


def tell_trainer_beside_ray(context: Context, training: Training) -> None:
    """Tells of a Trainer that trains without Ray in a script which imports it.

    Args:
        context: The module.
        training: What it does with Trainers.
    """
    if training.searches:
        if _names_beside(context, training.searches[0]):
            context.manual(RM802, training.searches[0], SEARCHES)
    elif training.trains:
        tell_beside_ray(context, training.trains[0])


def tell_beside_ray(context: Context, trains: ast.AST) -> None:
    """Tells of a training that the script starts without Ray, though it imports Ray.

    Args:
        context: The module.
        trains: What trains.
    """
    if (names := _names_beside(context, trains)) and not is_run_by_ray(context, trains, trains):
        context.manual(RM802, trains, WITHOUT_RAY.format(few(names)), ADVICE)


def _names_beside(context: Context, trains: ast.AST) -> list[str]:
    """What a script names of Ray, where none of it can run the training, and the script itself starts that."""
    module = context.module
    named = module.references_within("ray")
    beside = {reference.node for reference in module.references_within(*BESIDE)}
    if context.options.part_of_job or any(reference.node not in beside for reference in named):
        return []
    return sorted({reference.qualified for reference in named}) if _is_started_here(module, trains) else []


def _is_started_here(module: Module, trains: ast.AST) -> bool:
    """Whether the statements of a file lead to a training; else another file may hand it to Ray."""
    function = module.function(trains)
    return function is None or any(function in functions_of(module, statement) for statement in module.tree.body)
