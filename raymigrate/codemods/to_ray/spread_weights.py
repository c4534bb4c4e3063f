"""RM806: what saves weights that FSDP spreads over the workers: all of them have to come to it.

Below a condition on the rank, the first worker would wait for the parts of the others for ever, or save its own part.
"""

import ast
import re

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.all_workers import body_of
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.codemods.to_ray.script import executed
from raymigrate.codemods.to_ray.trainer_calls import makes_arguments
from raymigrate.facts.projects.callees import callees
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import FunctionNode
from raymigrate.facts.values import is_method_call

VARIABLE = "ACCELERATE_USE_FSDP"
SAVES = frozenset({"state_dict", "save_pretrained", "push_to_hub"})
# What has such methods, and is not a model.
OTHERS = lazy_regex(r"tok|process|extractor|config|optim|sched|scaler", re.IGNORECASE)
MESSAGE = (
    "FSDP spreads the weights of a model over the workers, and each of them has to take part in saving it: below a"
    " condition on the rank, it waits for ever or saves only a part. As it stands, every worker writes the same files."
)
ADVICE = "Call trainer.save_model(path) in its place: all workers put the weights together, and the first one writes."


def saves_spread_weights(module: Module, outline: Outline, step: ast.stmt) -> bool:
    """Whether a statement saves a model, in itself or in what it calls, that FSDP spreads over the workers.

    Args:
        module: The module.
        outline: What becomes of the script.
        step: The statement.
    """
    launched = getattr(outline, "launched", None)
    form = launched.form if launched is not None and outline.use_gpu else None
    is_spread = form is not None and form.environment.get(VARIABLE) == "true"
    return (is_spread or _asks_for_fsdp(module)) and _saves_model(module, step, set())


def tell_spread_weights(context: Context, rule: Rule, step: ast.stmt) -> None:
    """Says of a statement that neither one worker nor all of them can save the model so."""
    context.manual(rule, step, MESSAGE, ADVICE)


@kept
def _asks_for_fsdp(module: Module) -> bool:
    """Whether the arguments of a Trainer ask for FSDP, or may do so."""
    return any(
        makes_arguments(module, call) and module.constant(word.value) not in (None, "", False)
        for call, word in module.keywords("fsdp")
    )


def _saves_model(module: Module, code: ast.AST, seen: set[FunctionNode]) -> bool:
    for node in executed(module, code):
        if not isinstance(node, ast.Call):
            continue
        if is_method_call(node, *SAVES) and _may_be_model(module, node.func.value):
            return True
        for callee in callees(module, node.func):
            if callee.function is not None and callee.function not in seen:
                seen.add(callee.function)
                if any(_saves_model(callee.module, part, seen) for part in body_of(callee.function)):
                    return True
    return False


def _may_be_model(module: Module, node: ast.expr) -> bool:
    made = [source.node.func for source in module.origins(node) if isinstance(source.node, ast.Call)]
    return not any(OTHERS.search(ast.unparse(part)) for part in (node, *made))
