"""RM510: a preprocessor read back from a checkpoint.

Legacy Ray wrote the fitted preprocessor of a trainer into every checkpoint (docs/semantics/data.md#preprocessors). The
converted script fits the preprocessor itself, so where that one is at hand it takes the place of the one in the
checkpoint. `set_preprocessor(None)` let predictors apply none.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.facts.instances import has_method
from raymigrate.facts.legacy import TORCH_TRAINERS, TRAINERS
from raymigrate.facts.module import Module
from raymigrate.facts.results import is_any_checkpoint, is_called_checkpoint
from raymigrate.facts.values import is_none

RM510 = Rule(
    "RM510",
    "a preprocessor read from a checkpoint",
    "Ray Train puts no preprocessor into a checkpoint, and Checkpoint.get_preprocessor() raises an AttributeError.",
    "Write preprocessor.serialize() to a file of the checkpoint, and read it with Preprocessor.deserialize(text). A"
    " statement that sets None goes.",
    "https://docs.ray.io/en/latest/data/api/doc/ray.data.preprocessor.Preprocessor.html",
)
METHODS = ("get_preprocessor", "set_preprocessor")
DELETE = "Delete the line: no checkpoint holds a preprocessor any more, so none is applied."


@codemod(*METHODS)
def checkpoint_preprocessors(context: Context) -> None:
    """Takes the preprocessor given to a trainer for the one in its checkpoint, and deletes what sets none."""
    module = context.module
    for call, method in module.method_calls(*METHODS):
        known = is_any_checkpoint(module, method.value)
        if not known and not (context.is_legacy_script and is_called_checkpoint(module, method.value)):
            continue
        if has_method(module, method.value, method.attr):  # those of current Ray for Torch, XGBoost and others
            continue
        gone = f"Checkpoint.{method.attr}() raises an AttributeError"
        if _sets_none(module, call):
            _delete(context, call, gone if known else f"If this is a checkpoint of Ray: {gone}", sure=known)
        elif not _replaced(context, call, method, gone):
            outcome = f"{gone}: Ray Train puts no preprocessor into a checkpoint."
            context.manual(RM510, call, outcome if known else f"If this is a checkpoint of Ray: {outcome}")


def _sets_none(module: Module, call: ast.Call) -> bool:
    """Whether a statement is `checkpoint.set_preprocessor(None)`, after which no preprocessor was applied."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "set_preprocessor"
        and len(given) == 1
        and is_none(given[0])
        and isinstance(module.parent_of[call], ast.Expr)
    )


def _delete(context: Context, call: ast.Call, gone: str, *, sure: bool) -> None:
    if not sure:
        context.manual(RM510, call, f"{gone}.", DELETE)
    elif context.converts(RM510, call, f"{gone}; deleted, as no checkpoint holds a preprocessor any more."):
        context.plan.statement(context.module.statement(call)).removed = True


def _replaced(context: Context, call: ast.Call, method: ast.Attribute, gone: str) -> bool:
    """Takes the trainer's own preprocessor for that of its checkpoint, where it is at hand; returns whether it is."""
    trainer = _trainer_behind(context, method.value)
    name = context.emitted.get(("preprocessor", trainer)) if trainer is not None else None
    near = trainer is not None and context.module.scope_of[trainer] is context.module.scope_of[call]
    if name is None or not near or method.attr != "get_preprocessor" or call.args:
        return False
    if context.converts(RM510, call, f"{gone}; the trainer's own preprocessor takes its place."):
        context.plan.replace(call, name)
    return True


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
