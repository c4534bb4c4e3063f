"""What a Tuner is given that is a trainer, whatever class of Ray Train it is of and wherever it is made."""

import ast

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.projects.callees import Callee, callees
from raymigrate.facts.projects.handed_on import named_trainers
from raymigrate.facts.ray_train.trainers import classes_behind
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.own_modules import LIBRARIES
from raymigrate.facts.values import Source, is_method_call
from raymigrate.knowledge.legacy import RL_TRAINERS, SKLEARN_TRAINERS, TORCH_TRAINERS, TRAINERS

WRAPS = ("ray.tune.with_parameters", "ray.tune.with_resources")
CALLED_TRAINER = lazy_regex(r"trainer[^.A-Z]*$")  # no class


def may_be_trainer(module: Module, node: ast.expr | None) -> bool:
    """Whether an expression can be what a construction of a trainer gives, of whatever class of Ray Train."""
    return any(source is not None for source in _trainer_classes(module, node))


def unwrapped(module: Module, trainable: ast.expr) -> ast.expr:
    """A trainable without what wraps a trainer: `trainer.as_trainable()`, `tune.with_resources(trainer, ...)`."""
    seen = set[ast.expr]()
    while (made := module.value(trainable)) not in seen:  # `trainable = tune.with_resources(trainable, ...)`
        seen.add(made)
        if not isinstance(made, ast.Call):
            break
        if isinstance(made.func, ast.Attribute) and made.func.attr == "as_trainable":
            trainable = made.func.value
        elif made.args and module.qualified(made.func) in WRAPS:
            trainable = made.args[0]
    return trainable


def is_other_trainer(module: Module, node: ast.expr | None) -> bool:
    """Whether an expression is a trainer for sure, of a class for which no driver is written."""
    names = _trainer_classes(module, node)
    return bool(names) and all(name is not None and name not in TORCH_TRAINERS | TRAINERS for name in names)


def is_one_trainer(module: Module, node: ast.expr | None) -> bool:
    """Whether an expression is a trainer for sure, and only one construction makes it."""
    names = _trainer_classes(module, node)
    return len(names) == 1 and names[0] is not None


def is_unseen(module: Module, node: ast.expr | None) -> bool:
    """Whether it can't be seen what a Tuner is given: no function, no class, no name of one, and nothing imported.

    What other packages make may be a trainer, and so may what they call one.
    """
    return node is not None and any(_is_unseen(found) for found in callees(module, node))


def _is_unseen(found: Callee) -> bool:
    if not found.is_unknown or isinstance(found.node, ast.Constant):
        return False
    if isinstance(found.node, ast.Call):
        maker = found.node.func
        if (found.module.qualified(maker) or "").partition(".")[0] in LIBRARIES:
            return False  # where it is a trainer, that is said of it
        return not isinstance(found.module.definition(maker), ast.ClassDef)
    classes = list(classes_behind(found.module, found.node))
    return all(isinstance(named, str) and CALLED_TRAINER.search(named) for named in classes)


def _trainer_classes(module: Module, node: ast.expr | None) -> list[str | None]:
    """The classes of Ray Train of which an expression can be a trainer; None where it can be something else."""
    return [_trainer_class(source) for source in module.origins(node)]


def _trainer_class(source: Source) -> str | None:
    """The class of Ray Train of which a call makes or restores a trainer, or of one derived from it; else None."""
    module, made = source.module, source.node
    if not isinstance(made, ast.Call):
        return None
    maker = made.func.value if is_method_call(made, "restore") else made.func
    names = (name for held in module.origins(maker) for name in named_trainers(held))
    return next((n for n in names if n not in RL_TRAINERS | SKLEARN_TRAINERS), None)  # no trainer is to take theirs
