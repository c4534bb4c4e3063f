"""RM426: trainers that are imported from inside a package of Ray, where the classes before Train V2 still are.

docs/semantics/train-v2.md#trainers-before-train-v2: Ray 2.60, train/base_trainer.py, `_log_v2_deprecation_warnings`.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.moves import Move, move_names
from raymigrate.facts.syntax.module import Module
from raymigrate.knowledge.libraries import look_up

RM426 = Rule(
    "RM426",
    "a trainer from inside a package of Ray",
    "On Ray >= 2.51 such a module still holds the class from before Train V2: making one raises a DeprecationWarning.",
    "The class is imported from the package itself, as in from ray.train.torch import TorchTrainer. There is no public"
    " DataParallelTrainer or BaseTrainer any more.",
    "https://github.com/ray-project/ray/issues/49454",
    errors=(
        "Detected use of a deprecated Trainer import from",
        "This Trainer class is not compatible with Ray Train V2",
    ),
)
INNER = {
    "torch": "TorchTrainer",
    "tensorflow": "TensorflowTrainer",
    "xgboost": "XGBoostTrainer",
    "lightgbm": "LightGBMTrainer",
}
MOVES = {
    f"ray.train.{package}.{package}_trainer.{name}": Move(f"ray.train.{package}", name)
    for package, name in INNER.items()
}
WITHOUT_SUCCESSOR = ("ray.train.data_parallel_trainer.DataParallelTrainer", "ray.train.base_trainer.BaseTrainer")
ENDS = tuple(f".{name.rpartition('.')[2]}" for name in WITHOUT_SUCCESSOR)
RAISES = "raises a DeprecationWarning on Ray >= 2.51."
USE_ANOTHER = "Use TorchTrainer: a training function without torch runs in it too. Then run raymigrate again."


@codemod(*INNER.values(), "DataParallelTrainer", "BaseTrainer")
def inner_modules(context: Context) -> None:
    """Takes trainers that are constructed from the packages, where they are those of Train V2."""
    module = context.module
    move_names(context, RM426, moved_trainers(module))
    bases = [base for home in module.of_type(ast.ClassDef) for base in home.bases]
    for name in _without_successor(module):
        for call in module.calls(name):
            context.manual(RM426, call, f"{name}() {RAISES}", USE_ANOTHER)
        for base in bases:
            if module.qualified(base) == name:
                context.manual(RM426, base, f"An object of a class derived from {name} {RAISES}", USE_ANOTHER)


def _without_successor(module: Module) -> list[str]:
    """The names by which a module has such a class: other modules of Ray import it too, as ray.train.trainer does."""
    named = dict.fromkeys(reference.qualified for reference in module.references_within("ray.train"))
    return [name for name in named if name.endswith(ENDS) and look_up(name).place in WITHOUT_SUCCESSOR]


def moved_trainers(module: Module) -> dict[str, Move]:
    """The trainers from inside the packages that a module makes, or derives classes from, with their new places."""
    derived = {module.qualified(base) for home in module.of_type(ast.ClassDef) for base in home.bases}
    return {old: move for old, move in MOVES.items() if old in derived or any(module.calls(old))}
