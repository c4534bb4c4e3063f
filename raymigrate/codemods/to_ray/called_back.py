"""Functions of a script that its Trainer calls, on every worker: methods of callbacks, its own, and the metrics."""

import ast
from collections.abc import Iterator

from raymigrate.codemods.to_ray.early_writes import is_for_one
from raymigrate.codemods.to_ray.trackers import FIRST
from raymigrate.codemods.to_ray.trainer_calls import Training
from raymigrate.facts.hugging_face.callbacks import event_methods
from raymigrate.facts.ray_train.ranks import rank_condition, skipped_by_rank
from raymigrate.facts.ray_train.trainers import is_transformers_trainer
from raymigrate.facts.syntax.functions import parameters
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import keyword_named

STATE = 2  # its place among the parameters: self, args, state, control
FOR_ONE = ("_save",)  # which a Trainer calls in the process that saves


def called_back(module: Module, training: Training) -> Iterator[tuple[ast.FunctionDef, str]]:
    """The functions, each with a test of whether it runs on the first worker.

    Args:
        module: The module.
        training: What trains in it.
    """
    for method in event_methods(module):
        given = parameters(method)
        yield method, f"{given[STATE].arg}.is_world_process_zero" if len(given) > STATE else FIRST
    for made in module.of_type(ast.ClassDef):
        if is_transformers_trainer(module, made):
            methods = (part for part in made.body if isinstance(part, ast.FunctionDef) and part.name not in FOR_ONE)
            for method in methods:
                if method.args.args and not method.decorator_list and method.name != "__init__":
                    yield method, f"{method.args.args[0].arg}.is_world_process_zero()"
    for call in training.makes:
        keyword = keyword_named(call, "compute_metrics")
        found = module.definition(keyword.value) if keyword is not None else None
        uses = module.uses_of(found) if isinstance(found, ast.FunctionDef) else []
        if isinstance(found, ast.FunctionDef) and all(isinstance(module.parent_of[use], ast.keyword) for use in uses):
            yield found, FIRST  # which is asked of workers only


def written_by_all(module: Module, function: ast.FunctionDef) -> Iterator[ast.With | ast.Expr]:
    """The statements of a function that each worker comes to, less those that write to a path of its own."""
    for step in module.below(function):
        if not isinstance(step, (ast.With, ast.Expr)) or module.function(step) is not function:
            continue
        if rank_condition(module, step) is not None or skipped_by_rank(module, step) is not None:
            continue
        if not any(isinstance(node, ast.Call) and is_for_one(module, node) for node in ast.walk(step)):
            yield step
