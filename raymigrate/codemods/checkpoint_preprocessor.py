"""RM510: a preprocessor read back from a checkpoint.

Legacy Ray wrote the fitted preprocessor of a trainer into every checkpoint (SEMANTICS.md 2.2). The converted script
fits the preprocessor itself, so where that one is at hand it takes the place of the one in the checkpoint.
`checkpoint_methods` deals with the checkpoints of the Transformers trainers otherwise.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.context import Context
from raymigrate.facts.legacy import TORCH_TRAINERS, TRAINERS
from raymigrate.findings import Rule

RM510 = Rule(
    "RM510",
    "a preprocessor read from a checkpoint",
    "Ray Train puts no preprocessor into a checkpoint, and Checkpoint.get_preprocessor() raises an AttributeError.",
    "Write preprocessor.serialize() to a file of the checkpoint, and read it with Preprocessor.deserialize(text).",
    "https://docs.ray.io/en/latest/data/api/doc/ray.data.preprocessor.Preprocessor.html",
)
METHODS = ("get_preprocessor", "set_preprocessor")


@codemod(*METHODS, order=48)
def checkpoint_preprocessors(context: Context) -> None:
    """Replaces the preprocessor of a trainer's checkpoint by the one that was given to the trainer."""
    module = context.module
    for node in module.nodes:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS):
            continue
        trainer = _trainer_behind(context, node.func.value)
        if trainer is None:
            continue
        name = context.emitted.get(("preprocessor", trainer))
        near = module.scope_of[trainer] is module.scope_of[node]
        context.handled.add(node)
        gone = f"Checkpoint.{node.func.attr}() raises an AttributeError"
        if name is not None and near and node.func.attr == "get_preprocessor" and not node.args:
            if context.converts(RM510, node, f"{gone}; the trainer's own preprocessor takes its place."):
                context.plan.replace(node, name)
        else:
            context.manual(RM510, node, f"{gone}: Ray Train puts no preprocessor into a checkpoint.")


def _trainer_behind(context: Context, node: ast.expr) -> ast.Call | None:
    """The construction of the trainer whose `fit().checkpoint` an expression is."""
    module = context.module
    value = module.value(node)
    if not (isinstance(value, ast.Attribute) and value.attr == "checkpoint"):
        return None
    fit = module.value(value.value)
    if not (isinstance(fit, ast.Call) and isinstance(fit.func, ast.Attribute) and fit.func.attr == "fit"):
        return None
    trainer = module.value(fit.func.value)
    if isinstance(trainer, ast.Call) and module.qualified(trainer.func) in TRAINERS | TORCH_TRAINERS:
        return trainer
    return None
