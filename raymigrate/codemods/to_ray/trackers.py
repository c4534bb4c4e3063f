"""RM807: runs of wandb, mlflow and the like that each worker of a converted script starts for itself."""

from __future__ import annotations

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.facts.module import Module

RM807 = Rule(
    "RM807",
    "a tracker's run that each worker starts",
    "What trains runs on every worker, and so does a wandb.init() or mlflow.start_run() around it: N workers make N"
    " runs, or write the same one at the same time.",
    "Start the run on the first worker only; Trainer and accelerate log there by themselves.",
    "https://docs.ray.io/en/latest/train/user-guides/experiment-tracking.html",
)
STARTS = (
    *("wandb.init", "mlflow.start_run", "swanlab.init", "trackio.init", "neptune.init", "neptune.init_run"),
    *("comet_ml.Experiment", "comet_ml.start", "torch.utils.tensorboard.SummaryWriter", "tensorboardX.SummaryWriter"),
)
# What a script asks to learn whether its process is the first one.
ASKED = {
    *("is_main_process", "is_local_main_process", "on_main_process", "on_local_main_process"),
    *("rank", "local_rank", "process_index", "local_process_index", "get_rank", "get_world_rank", "get_local_rank"),
    *("is_world_process_zero", "is_local_process_zero", "should_save", "RANK", "LOCAL_RANK"),
}


def tell_trackers(context: Context, outline: Outline) -> None:
    """Tells of runs that each worker would start: not of those that are planned to be started by the first one.

    Args:
        context: The module.
        outline: What is planned for it.
    """
    module, statements = context.module, context.plan.statements
    workers = set(outline.roles.moved_or_makers())
    for call in module.calls(*STARTS):
        step = outline.script.step_of(call)
        guarded = step in statements and statements[step].within is not None
        if step in workers and not guarded and not is_for_one_process(module, call):
            message = f"{module.source(call.func)}() runs on every worker: each starts a run of its own."
            advice = "Put it, and what logs to it, below `if ray.train.get_context().get_world_rank() == 0:`."
            context.manual(RM807, call, message, advice)


def is_for_one_process(module: Module, node: ast.AST) -> bool:
    """Whether code is below an `if`, or in a function with a decorator, that asks for the rank of the process."""
    around = [ancestor for ancestor in module.ancestors(node) if isinstance(ancestor, (ast.If, ast.IfExp))]
    decorators = [d for ancestor in module.ancestors(node) for d in getattr(ancestor, "decorator_list", ())]
    parts = [part for each in (*around, *decorators) for part in ast.walk(getattr(each, "test", each))]
    names = {getattr(part, "attr", getattr(part, "id", getattr(part, "value", ""))) for part in parts if _is_name(part)}
    return not names.isdisjoint(ASKED)


def _is_name(part: ast.AST) -> bool:
    return isinstance(part, (ast.Name, ast.Attribute)) or (
        isinstance(part, ast.Constant) and isinstance(part.value, str)
    )
