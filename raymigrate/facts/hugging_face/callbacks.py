"""Callbacks of transformers: classes with methods that Trainer calls at the events of a training."""

import ast
from collections.abc import Iterator

from raymigrate.facts.ray_train.trainers import library_bases
from raymigrate.facts.syntax.module import Module
from raymigrate.knowledge.libraries import lineage, look_up

CALLBACK = "transformers.trainer_callback.TrainerCallback"
# The methods of TrainerCallback (transformers 5.23, trainer_callback.py).
EVENTS = (
    "on_epoch_begin",
    "on_epoch_end",
    "on_evaluate",
    "on_init_end",
    "on_log",
    "on_optimizer_step",
    "on_pre_optimizer_step",
    "on_predict",
    "on_prediction_step",
    "on_push_begin",
    "on_save",
    "on_step_begin",
    "on_step_end",
    "on_substep_end",
    "on_train_begin",
    "on_train_end",
)


def is_callback(module: Module, node: ast.ClassDef) -> bool:
    """Whether a class is a subclass of transformers.TrainerCallback, directly or by classes of this project."""
    return any(CALLBACK in lineage(look_up(name).place) for name in library_bases(module, node))


def event_methods(module: Module) -> Iterator[ast.FunctionDef]:
    """The methods of callbacks that Trainer calls, in source order."""
    for node in module.of_type(ast.ClassDef):
        if is_callback(module, node):
            yield from (made for made in node.body if isinstance(made, ast.FunctionDef) and made.name in EVENTS)
