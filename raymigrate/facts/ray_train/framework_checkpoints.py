"""The checkpoint classes of the frameworks that Ray still has: TorchCheckpoint and others."""

import ast

from raymigrate.facts.projects.declared import is_declared
from raymigrate.facts.ray_train.results import is_any_checkpoint, trainers_of
from raymigrate.facts.ray_tune.trials import tuners_of
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name, sources

CLASSES = tuple(
    f"ray.train.{framework}{module}.{name}"
    for framework, name in {
        "torch": "TorchCheckpoint",
        "tensorflow": "TensorflowCheckpoint",
        "xgboost": "XGBoostCheckpoint",
        "lightgbm": "LightGBMCheckpoint",
    }.items()
    for module in ("", f".{framework}_checkpoint")
)


def framework_class(module: Module, node: ast.expr) -> str:
    """The class of a checkpoint of a framework: "TorchCheckpoint"; empty where a value is none, or may be of several.

    Args:
        module: The module.
        node: The value: an object of the class, made by it or one of its methods, or declared to be one.
    """
    found = {_made_by(module, source) for source in sources(module, node)}
    if found == {""}:
        found = {owner.rpartition(".")[2] for owner in CLASSES if is_declared(module, node, (owner,))}
    return found.pop() if len(found) == 1 else ""


def is_of_any_class(module: Module, node: ast.expr) -> bool:
    """Whether a value is a checkpoint of Ray, of a class of a framework too."""
    return is_any_checkpoint(module, node) or framework_class(module, node) != ""


def may_be_of_result(module: Module, node: ast.expr) -> bool:
    """Whether a value is the checkpoint of a run or a trial on one way to it at least."""
    owners = [way.value for way in sources(module, node) if isinstance(way, ast.Attribute) and way.attr == "checkpoint"]
    return any(trainers_of(module, owner) - {None} or any(tuners_of(module, owner)) for owner in owners)


def _made_by(module: Module, source: ast.expr) -> str:
    name = called_name(module, source)
    owner = next((owner for owner in (name, name.rpartition(".")[0]) if owner in CLASSES), "")
    return owner.rpartition(".")[2]
