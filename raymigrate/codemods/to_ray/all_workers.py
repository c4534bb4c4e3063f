"""What all workers have to run together: an evaluation by the Trainer waits until each of them is in it.

Below a condition on the rank it would wait for ever. It may be in a function that the statement calls.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.driver_ranks import ranks_of_option
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.codemods.to_ray.script import executed, uses_of_function
from raymigrate.codemods.to_ray.trainer_calls import is_trainer
from raymigrate.facts.projects.callees import callees
from raymigrate.facts.projects.main_process import is_for_main
from raymigrate.facts.ray_train.ranks import RANK_ATTRIBUTES
from raymigrate.facts.syntax.functions import on_every_way
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import FunctionNode
from raymigrate.facts.values import all_arguments, called_name, last_name
from raymigrate.knowledge.legacy import ACCELERATORS

VALUES = (ast.List, ast.Dict, ast.Set, ast.Tuple, ast.Constant)
DEPTH = 3  # functions that call each other
# What a Trainer holds or knows by itself; anything else of it may wait for the other workers, or lead to what does.
OF_TRAINER = frozenset(
    {
        *("is_world_process_zero", "is_local_process_zero", "state", "args", "model", "tokenizer", "processing_class"),
        *("train_dataset", "eval_dataset", "data_collator", "optimizer", "lr_scheduler", "accelerator"),
        *("is_fsdp_enabled", "is_deepspeed_enabled", "is_in_train", "place_model_on_device", "label_names"),
    }
)
OF_ACCELERATOR = RANK_ATTRIBUTES | {
    *("num_processes", "device", "unwrap_model", "print", "state", "mixed_precision", "distributed_type"),
    *("gradient_accumulation_steps", "sync_gradients", "project_dir", "logging_dir"),
}
RUN_TOGETHER = ("train", "evaluate", "predict")  # methods of a Trainer
TOGETHER_ADVICE = (
    "Let all workers run it, and leave below the condition what prints or writes what comes of it: every worker has the"
    " same metrics and predictions."
)
TOGETHER = ("torch.distributed.", "accelerate.utils.", "ray.train.report", "ray.train.collective.")
ALONE = ("get_rank", "get_world_size", "is_initialized", "is_available", "DistributedType")


def tell_alone(context: Context, rule: Rule, outline: Outline) -> None:
    """Tells of what a Trainer does with all workers, where the first one alone comes to it: it ran in one process.

    Args:
        context: The module.
        rule: The rule that tells.
        outline: What becomes of the script.
    """
    module = context.module
    same = frozenset[ast.AST](ranks_of_option(outline))  # which make no difference between workers, and are told
    for call, method in module.method_calls(*RUN_TOGETHER):
        if not is_trainer(module, method.value):
            continue
        function = module.function(call)
        uses = uses_of_function(module, function) if isinstance(function, ast.FunctionDef) else []
        is_theirs = any(outline.is_for_workers(place) for place in (call, *uses))
        if is_theirs and _is_for_first(module, call, same):
            message = (
                f"Only the first worker gets here, and waits in {method.attr}() for the others, which never get here."
            )
            context.manual(rule, call, message, TOGETHER_ADVICE)


def _is_for_first(module: Module, node: ast.AST, same: frozenset[ast.AST]) -> bool:
    """Whether the main process alone comes to a node, also where its function is called by this one alone."""

    def function_of(place: ast.AST) -> ast.FunctionDef | None:
        function = module.function(place)
        return function if isinstance(function, ast.FunctionDef) else None

    return on_every_way(
        node,
        lambda place: is_for_main(module, place, same),
        function_of,
        lambda function: uses_of_function(module, function),
    )


def needs_all(module: Module, code: ast.AST) -> bool:
    """Whether some code may do what all workers have to: itself or in what it calls; also where that is not seen."""
    return _needs_all(module, code, DEPTH, set())


def _needs_all(module: Module, code: ast.AST, depth: int, seen: set[ast.AST]) -> bool:
    for node in executed(module, code):
        if isinstance(node, ast.Call) and _hands_trainer_on(module, node):
            return True
        if not isinstance(node, (ast.Name, ast.Attribute)) or not isinstance(node.ctx, ast.Load):
            continue
        if _is_of_all(module, node) or _leads_there(module, node, depth, seen):
            return True
        for found in _all_properties(module).get(node.attr, []) if isinstance(node, ast.Attribute) else []:
            if found not in seen:
                seen.add(found)
                if not depth or any(_needs_all(module, part, depth - 1, seen) for part in found.body):
                    return True
    return False


def leads_to(module: Module, code: ast.AST, function: FunctionNode) -> bool:
    """Whether some code calls a function, itself or in what it calls."""
    return function in functions_of(module, code)


@kept
def functions_of(module: Module, code: ast.AST, depth: int = DEPTH) -> frozenset[FunctionNode]:
    """The functions that some code calls, itself or in what it calls."""
    found = dict(_called(module, code))
    inner = [functions_of(home, part, depth - 1) for f, home in found.items() for part in body_of(f)] if depth else []
    return frozenset(found).union(*inner)


@kept
def _called(module: Module, code: ast.AST) -> list[tuple[FunctionNode, Module]]:
    """The functions that some code calls itself, each with its file."""
    calls = (node for node in executed(module, code) if isinstance(node, ast.Call))
    found = (callee for call in calls for callee in callees(module, call.func))
    return [(callee.function, callee.module) for callee in found if callee.function is not None]


def _is_of_all(module: Module, node: ast.expr) -> bool:
    """Whether something is, or may be, a function that all workers have to call together."""
    name = module.qualified(node) or ""
    if name.startswith(TOGETHER):
        return not name.endswith(ALONE)
    if not isinstance(node, ast.Attribute):
        return False
    if is_trainer(module, node.value):
        return node.attr not in OF_TRAINER and not _holds_values(module, node)
    return is_accelerator(module, node.value) and node.attr not in OF_ACCELERATOR


def _holds_values(module: Module, node: ast.Attribute) -> bool:
    """Whether an attribute is a list, dict or number that the script's own class collects: `trainer.losses`."""
    ends = [source.node for source in module.origins(node) if source.node is not node]
    return bool(ends) and all(isinstance(end, VALUES) for end in ends)


def is_accelerator(module: Module, node: ast.expr) -> bool:
    """Whether an object is an Accelerator, or is named like one."""
    if last_name(node) == "accelerator":
        return True
    return any(called_name(*source) in ACCELERATORS for source in module.origins(node))


def _leads_there(module: Module, named: ast.expr, depth: int, seen: set[ast.AST]) -> bool:
    """Whether something that is called or handed on does so; what is too deep to be seen may."""
    for callee in callees(module, named):
        if callee.function is None:
            if callee.node is not named and _is_of_all(callee.module, callee.node):
                return True
        elif callee.function not in seen:
            seen.add(callee.function)
            if not depth or any(_needs_all(callee.module, part, depth - 1, seen) for part in body_of(callee.function)):
                return True
    return False


@kept
def _all_properties(module: Module) -> dict[str, list[ast.FunctionDef]]:
    """The properties of a file, by name."""
    found: dict[str, list[ast.FunctionDef]] = {}
    for function in module.of_type(ast.FunctionDef):
        if any((last_name(decorator) or "").endswith("property") for decorator in function.decorator_list):
            found.setdefault(function.name, []).append(function)
    return found


def _hands_trainer_on(module: Module, call: ast.Call) -> bool:
    """Whether a call gives a Trainer to something that is not seen."""
    if not any(is_trainer(module, value) for value in all_arguments(call)):
        return False
    return any(callee.is_unknown for callee in callees(module, call.func))


def body_of(function: FunctionNode) -> list[ast.AST]:
    """What a function carries out: its statements, or the expression of a lambda."""
    return [*function.body] if isinstance(function.body, list) else [function.body]
