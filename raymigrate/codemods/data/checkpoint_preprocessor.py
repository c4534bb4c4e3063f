"""RM510: a preprocessor read back from a checkpoint.

Legacy Ray wrote the fitted preprocessor of a trainer into every checkpoint (docs/semantics/data.md#preprocessors). The
converted script fits the preprocessor itself, so where that one is at hand it takes the place of the one in the
checkpoint. `set_preprocessor(None)` let predictors apply none.
"""

import ast

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.preprocessor_advice import (
    KEPT_IN_FILE,
    gone_preprocessor,
    in_its_place,
    is_gone,
    on_rows,
    stages_of,
)
from raymigrate.facts.hugging_face.instances import has_method
from raymigrate.facts.projects.project_uses import is_named_elsewhere
from raymigrate.facts.ray_data.preprocessors import Mapper, Stage, arguments
from raymigrate.facts.ray_train.results import is_any_checkpoint, is_called_checkpoint, is_set_to_none, trainers_behind
from raymigrate.facts.syntax.comments import comments_over
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import all_arguments, is_method_call, is_none, keyword_argument, sources
from raymigrate.knowledge.legacy import TORCH_TRAINERS, TRAINERS

RM510 = Rule(
    "RM510",
    "a preprocessor read from a checkpoint",
    "Ray Train puts no preprocessor into a checkpoint, and Checkpoint.get_preprocessor() raises an AttributeError.",
    f"Use the preprocessor that the datasets of the trainer were transformed with; {KEPT_IN_FILE}. A statement that"
    " sets None goes.",
    "https://docs.ray.io/en/latest/data/api/doc/ray.data.preprocessor.Preprocessor.html",
)
CLAUSE_END = lazy_regex(r"[(:;,.]")
METHODS = ("get_preprocessor", "set_preprocessor")
APPLY = "Apply it to the rows before they go to the predictor"
NOT_READ = "Nothing reads it from a checkpoint any more."
HANDED_ON = " Where a predictor got it, drop the argument, and apply it to the rows before they go there."
IN_ANOTHER_FILE = (
    "Where it is a BatchMapper, which another file makes here, it is gone: give its function to map_batches, with"
    " its batch_format= and batch_size=, in place of transform(dataset); call it in place of transform_batch(batch)."
)
LOCAL = " {function} is local to {maker}(): where that returns a function that maps a dataset, call that one."
DELETE = "Delete the line: no checkpoint holds a preprocessor any more, so none is applied."


@codemod(*METHODS)
def checkpoint_preprocessors(context: Context) -> None:
    """Takes the preprocessor given to a trainer for the one in its checkpoint, and deletes what sets none."""
    module = context.module
    for call, method in module.method_calls(*METHODS):
        known = is_any_checkpoint(module, method.value)
        held = not known and method.attr == "get_preprocessor" and _held_that_of_trainer(module, method.value)
        # Those of current Ray for Torch, XGBoost and others have the methods.
        has_it = has_method(module, method.value, method.attr)
        may_be = known or (context.of_legacy_job and is_called_checkpoint(module, method.value))
        if not held and (has_it or not may_be):
            continue
        known |= held
        gone = f"Checkpoint.{method.attr}() {'gives None' if held else 'raises an AttributeError'}"
        if is_set_to_none(module, method.value):
            _delete(context, call, gone if known else f"If this is a checkpoint of Ray: {gone}", sure=known)
        elif not _replaced(context, call, method, gone):
            outcome = f"{gone}: Ray Train puts no preprocessor into a checkpoint."
            message = outcome if known else f"If this is a checkpoint of Ray: {outcome}"
            context.manual(RM510, call, message, _what_to_do(context, call, method))


def _held_that_of_trainer(module: Module, checkpoint: ast.expr) -> bool:
    """Whether legacy Ray put the preprocessor of a trainer into a checkpoint, and the script itself puts none in."""
    makers = (call.func for call, _ in module.keywords("preprocessor"))
    puts = any(isinstance(maker, ast.Attribute) and maker.attr.startswith("from_") for maker in makers)
    if puts or any(module.attributes("set_preprocessor")):
        return False
    made = (trainer.node for trainer in trainers_behind(module, _of_run(module, checkpoint)))
    return any(isinstance(call, ast.Call) and not is_none(keyword_argument(call, "preprocessor")) for call in made)


def _of_run(module: Module, checkpoint: ast.expr) -> ast.expr:
    """The checkpoint itself of which `TorchCheckpoint.from_checkpoint(checkpoint)` made another."""
    made = module.value(checkpoint)
    if is_method_call(made, "from_checkpoint"):
        return made.args[0] if made.args else checkpoint
    return checkpoint


def _delete(context: Context, call: ast.Call, gone: str, *, sure: bool) -> None:
    if not sure:
        context.manual(RM510, call, f"{gone}.", DELETE)
    elif context.converts(RM510, call, f"{gone}; deleted, as no checkpoint holds a preprocessor any more."):
        statement = context.module.statement(call)
        edit = context.plan.statement(statement)
        edit.removed, edit.comments_stay = True, not _speaks_of_preprocessor(context.module, statement)


def _speaks_of_preprocessor(module: Module, statement: ast.stmt) -> bool:
    """Whether the lines over a statement begin with the preprocessor; others head the statements below it."""
    said = " ".join(comments_over(module, statement))
    return "preprocess" in CLAUSE_END.split(said, maxsplit=1)[0].lower()


def _what_to_do(context: Context, call: ast.Call, method: ast.Attribute) -> str | None:
    """What takes the place of a preprocessor that is read or set; None where nothing is known of it."""
    if method.attr == "set_preprocessor":
        given = all_arguments(call)
        parts = stages_of(context.module, given[0]) if len(given) == 1 else []
        return f"{APPLY}: {on_rows(context, parts)}." if is_gone(parts) else f"{APPLY}. {NOT_READ}"
    parts = gone_preprocessor(context, _of_run(context.module, method.value))
    if not parts:
        return f"{RM510.fix} {IN_ANOTHER_FILE}" if _may_be_mapper_elsewhere(context) else None
    is_handed_on = isinstance(context.module.parent_of[call], (ast.keyword, ast.Call))
    what = "is a BatchMapper" if len(parts) == 1 else "has a BatchMapper"
    instead = f"The preprocessor of the trainer {what}, which is gone: {in_its_place(context, parts)}."
    return instead + _out_of_reach(context.module, call, parts) + HANDED_ON * is_handed_on


def _out_of_reach(module: Module, call: ast.Call, parts: list[Stage]) -> str:
    """A sentence that names the functions of BatchMappers which are local to another function than a call is in."""
    given = [arguments(part.call).get("fn") for part in parts if isinstance(part, Mapper)]
    names = [node for node in given if isinstance(node, ast.Name) and module.bound_in(node) is not None]
    local = [node for node in names if module.scope_of[call].find(node.id) is not module.bound_in(node)]
    makers = ((node, module.function(node)) for node in local)
    told = [LOCAL.format(function=n.id, maker=maker.name) for n, maker in makers if isinstance(maker, ast.FunctionDef)]
    return "".join(dict.fromkeys(told))


def _may_be_mapper_elsewhere(context: Context) -> bool:
    """Whether the checkpoint comes from a trainer of another file, and one of the project makes a BatchMapper."""
    module = context.module
    return not any(module.calls(*TRAINERS, *TORCH_TRAINERS)) and is_named_elsewhere(module, b"BatchMapper")


def _replaced(context: Context, call: ast.Call, method: ast.Attribute, gone: str) -> bool:
    """Takes the trainer's own preprocessor for that of its checkpoint, where it is at hand; returns whether it is."""
    checkpoint = _of_run(context.module, method.value)
    made = trainers_behind(context.module, checkpoint) if len(sources(context.module, checkpoint)) == 1 else []
    trainer = made[0].node if len(made) == 1 and made[0].module is context.module else None
    name = context.emitted.get(("preprocessor", trainer)) if trainer is not None else None
    near = trainer is not None and context.module.scope_of[trainer] is context.module.scope_of[call]
    if name is None or not near or method.attr != "get_preprocessor" or call.args:
        return False
    if any(isinstance(part, ast.NamedExpr) for part in ast.walk(method.value)):
        return False  # `(checkpoint := result.checkpoint).get_preprocessor()` binds a name that may be read below
    if context.converts(RM510, call, f"{gone}; the trainer's own preprocessor takes its place."):
        context.plan.replace(call, name)
    return True
