"""RM807: runs of wandb, mlflow and other trackers: each worker of a converted script would start one for itself."""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.wandb_runs import (
    START,
    asks_for_run,
    disabling,
    is_disabled,
    starts_elsewhere,
    troubles,
    unkept,
    uses_of_run,
)
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.codemods.to_ray.roles import Role
from raymigrate.edits.plan import Code
from raymigrate.facts.projects.main_process import is_for_main
from raymigrate.facts.syntax.functions import returned_values
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import class_named, last_name

RM807 = Rule(
    "RM807",
    "a tracker's run that each worker starts",
    "What trains runs on every worker, and so does a wandb.init() or mlflow.start_run() around it: N workers make N"
    " runs, or write the same one at the same time.",
    "Start the run on the first worker only, where Trainer and accelerate log by themselves. wandb.init() gets"
    ' mode="disabled" on the others: their run does nothing, and wandb.config and wandb.log() work there too.',
    "https://docs.ray.io/en/latest/train/user-guides/experiment-tracking.html",
)
FIRST = "ray.train.get_context().get_world_rank() == 0"
STARTS = (
    *("wandb.init", "mlflow.start_run", "swanlab.init", "trackio.init", "neptune.init", "neptune.init_run"),
    *("clearml.Task.init", "aim.Run", "dvclive.Live", "comet_ml.Experiment", "comet_ml.start"),
    *("torch.utils.tensorboard.SummaryWriter", "tensorboardX.SummaryWriter"),
)
# What a script asks to learn whether its process is the first one.
ASKED = {
    *("is_main_process", "is_local_main_process", "on_main_process", "on_local_main_process"),
    *("rank", "local_rank", "process_index", "local_process_index", "get_rank", "get_world_rank", "get_local_rank"),
    *("is_world_process_zero", "is_local_process_zero", "is_world_master", "is_local_master", "RANK", "LOCAL_RANK"),
}
# Of TrainingArguments: whether this process saves. TrainerControl says with it whether it is time.
SAVES = "should_save"

TESTS = (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.IfExp, ast.Attribute)
DEEPEST = 4  # names and functions behind one another


def keep_one_run(context: Context, outline: Outline) -> None:
    """Keeps the first worker's run of wandb alone, and tells of runs of others that each worker would start.

    Args:
        context: The module.
        outline: What is planned for it.
    """
    module, statements = context.module, context.plan.statements
    workers = set(outline.roles.moved_or_makers())
    started = False
    for call in module.calls(*STARTS):
        step = outline.script.step_of(call)
        guarded = step in statements and statements[step].within is not None
        if step not in workers or guarded or is_for_one_process(module, call):
            continue
        if module.qualified(call.func) == START:
            started = True
            if is_disabled(module, call) or _disable(context, call):
                continue
        message = f"{module.source(call.func)}() runs on every worker: each starts a run of its own."
        context.manual(RM807, call, message, f"Put it, and what logs to it, below `if {FIRST}:`.")
    for call, place in starts_elsewhere(module):
        if outline.script.step_of(call) in workers and not is_for_one_process(module, call):
            message = f"wandb.init() in {place} runs on every worker: each starts a run of its own."
            context.manual(RM807, call, message, f'Give it mode=None if {FIRST} else "disabled".')
            started = True
    missing = [] if started else _uses_without_run(context, outline)
    if missing:
        message = "Only the first worker has a run of wandb, without which this raises: now the others have one that"
        if context.converts(RM807, missing[0], f"{message} is disabled."):
            context.plan.need_import("wandb")
            context.plan.need_import("ray.train")
            outline.start.append(f'if {FIRST.replace("== 0", "> 0")}:\n    wandb.init(mode="disabled")')
    if started or missing:
        _tell_of_disabled(context)


def _disable(context: Context, call: ast.Call) -> bool:
    """Disables the run of all workers but the first; whether that can be done."""
    found = disabling(context.module, call, FIRST)
    if found is None:
        return False
    if context.converts(RM807, call, "Each worker would start a run of its own; now all but the first's are disabled."):
        context.plan.need_import("ray.train")
        part, code = found
        if part is None:
            context.plan.call(call).set("mode", code)
        else:
            context.plan.expressions[part] = Code(code)
    return True


def _uses_without_run(context: Context, outline: Outline) -> list[ast.expr]:
    """What workers do with a run that none of them has, or the first alone: WandbCallback starts that for itself."""
    module, roles = context.module, outline.roles.of
    return [
        use
        for use in uses_of_run(module)
        if roles.get(outline.script.step_of(use)) is not Role.DRIVER  # type: ignore[arg-type]
        and not is_for_one_process(module, use)
        and not asks_for_run(module, use)
    ]


def _tell_of_disabled(context: Context) -> None:
    """Tells what a disabled run has not, and takes from the run what it does not put into the module."""
    module = context.module
    for function in unkept(module):
        context.plan.expressions[function] = Code(f"$owner.run.{function.attr}", {"owner": function.value})
    for trouble in troubles(module):
        if not is_for_one_process(module, trouble.node):
            message = trouble.message.format(others="Each worker")
            shared = "ray.train.collective.broadcast_from_rank_zero"
            context.manual(RM807, trouble.node, message, trouble.advice.format(shared=shared))


def is_for_one_process(module: Module, node: ast.AST) -> bool:
    """Whether the rank is asked for by an `if` around code or one that leaves before it, or a function's decorator."""
    if is_for_main(module, node):
        return True
    around = [ancestor for ancestor in module.ancestors(node) if isinstance(ancestor, (ast.If, ast.IfExp))]
    decorators = [d for ancestor in module.ancestors(node) for d in getattr(ancestor, "decorator_list", ())]
    parts = [part for each in (*around, *decorators) for part in asked(module, getattr(each, "test", each))]
    return any(is_asked_rank(module, part) for part in parts)


def is_asked_rank(module: Module, part: ast.AST) -> bool:
    """Whether a part of a test is what a script asks to learn whether its process is the first one."""
    if isinstance(part, ast.Attribute) and part.attr == SAVES:
        is_called = module.calling(part) is not None
        made = module.value(part.value)
        is_own = isinstance(made, ast.Call) and class_named(module, made.func) is not None
        return not is_called and not is_own and last_name(part.value) not in ("control", "self")
    return _is_name(part) and getattr(part, "attr", getattr(part, "id", getattr(part, "value", ""))) in ASKED


def asked(module: Module, test: ast.AST, depth: int = 0) -> Iterator[ast.AST]:
    """What a test looks at: also what names in it stand for, and what functions of the file return to it."""
    for part in ast.walk(test):
        yield part
        ends: list[ast.AST | None] = []
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            ends = [value] if (value := module.value(part)) is not part else []
        elif isinstance(part, ast.Call) and isinstance(function := module.definition(part.func), ast.FunctionDef):
            ends = list(returned_values(module, function))
        for end in ends if depth < DEEPEST else ():
            is_short = isinstance(end, ast.Call) and not end.args  # `dist.get_rank()`, and no `evaluate(model, rank)`
            if end is not None and (is_short or isinstance(end, TESTS)):
                yield from asked(module, end, depth + 1)


def _is_name(part: ast.AST) -> bool:
    return isinstance(part, (ast.Name, ast.Attribute)) or (
        isinstance(part, ast.Constant) and isinstance(part.value, str)
    )
