"""RM829: what is done with the objects of `accelerator.prepare` that goes wrong on the workers."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.facts.accelerate.split_batches import splits_batches
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.syntax.scopes import Scope
from raymigrate.facts.torch.gradients import switches_gradients_off
from raymigrate.facts.values import argument, called_name, is_call_by_name, origins
from raymigrate.knowledge.legacy import ACCELERATORS

MODEL_ATTRIBUTES = ("config", "generate", "save_pretrained", "push_to_hub", "generation_config")
RM829 = Rule(
    "RM829",
    "prepared objects on Ray's workers",
    "A prepared model is wrapped in DistributedDataParallel on workers without a GPU, even a single one, and on"
    " several that have one. With several workers a prepared loader gives each its share of the rows, and a prepared"
    " scheduler steps once for each of them.",
    "accelerator.unwrap_model(model) is the model itself, wrapped or not. A model that does not use all of its"
    " parameters in each step needs"
    " Accelerator(kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=True)]).",
    "https://huggingface.co/docs/accelerate/basic_tutorials/migration",
    errors=(
        "Expected to have finished reduction in the prior iteration before starting a new one",
        *(f"'DistributedDataParallel' object has no attribute '{name}'" for name in MODEL_ATTRIBUTES),
    ),
)
COUNTS = ("add_batch", "add", "update", "extend", "append")
GATHERS = ("gather", "gather_for_metrics", "reduce", "pad_across_processes", "all_gather", "all_reduce")
TRAINS = ("backward", "zero_grad")
# Functions that make a scheduler -> the place of the number of steps among their arguments.
SCHEDULERS = {
    "transformers.get_scheduler": 3,
    "transformers.optimization.get_scheduler": 3,
    "transformers.get_linear_schedule_with_warmup": 2,
    "transformers.get_cosine_schedule_with_warmup": 2,
    "diffusers.optimization.get_cosine_schedule_with_warmup": 2,
}


@dataclass(frozen=True)
class Prepare:
    """A call of `prepare`.

    Args:
        call: The call.
        given: The names of what it is given.
        made: The names of what it gives back.
        scope: Where these are bound.
    """

    call: ast.Call
    given: frozenset[str]
    made: frozenset[str]
    scope: Scope


def tell_prepared(context: Context) -> None:
    """Tells where prepared objects are used in a way that is right in one process only."""
    module = context.module
    found = list(prepares(module))
    for prepare in found:
        for loop in _counting_loops(module, prepare):
            message = "Each worker counts its own share of the rows, and what is shown is that of one worker."
            advice = "Gather predictions and labels first: accelerator.gather_for_metrics((predictions, labels))."
            context.manual(RM829, loop.iter, message, advice)
    for call, message in _schedules(module, found):
        context.manual(RM829, call, message, "See docs/semantics/plain-accelerate.md for the two right forms.")


def prepares(module: Module) -> Iterator[Prepare]:
    """The calls of an Accelerator's `prepare` whose values get names."""
    for call, function in module.method_calls("prepare", "prepare_model"):
        if _may_be_accelerator(module, function.value):
            statement = module.statement(call)
            if is_assignment(statement) and statement.value is call:
                targets = [t for target in targets_of(statement) for t in ast.walk(target) if isinstance(t, ast.Name)]
                given = frozenset(node.id for node in call.args if isinstance(node, ast.Name))
                yield Prepare(call, given, frozenset(t.id for t in targets), module.scope_of[call])


def _may_be_accelerator(module: Module, node: ast.expr) -> bool:
    made = [(source.module, source.node) for source in origins(module, node)]
    names = [home.qualified(call.func) for home, call in made if isinstance(call, ast.Call)]
    return not names or any(name in ACCELERATORS for name in names)


def _uses(module: Module, prepare: Prepare, name: str) -> Iterator[ast.Name]:
    """Where a name stands for what was prepared, as far as lines tell."""
    scope = prepare.scope.find(name)
    for use in module.uses(name, scope) if scope is not None else ():
        if use.lineno > prepare.call.lineno:
            yield use


def _counting_loops(module: Module, prepare: Prepare) -> Iterator[ast.For]:
    """Loops over a prepared loader, without gradients, that count without gathering."""
    for name in sorted(prepare.made):
        for use in _uses(module, prepare, name):
            loops = (around for around in module.ancestors(use) if isinstance(around, ast.For))
            loop = next((loop for loop in loops if use is loop.iter or module.inside(use, loop.iter)), None)
            if loop is None or not _is_without_gradients(module, loop):
                continue
            function = module.function(loop)
            around = function if function is not None else module.tree
            if not any(_method(node) in GATHERS for node in ast.walk(around)) and _counts(loop):
                yield loop


def _is_without_gradients(module: Module, loop: ast.For) -> bool:
    withs = [a for a in (*module.ancestors(loop), *ast.walk(loop)) if isinstance(a, ast.With)]
    function = module.function(loop)
    return any(switches_gradients_off(a) for a in (*withs, *([function] if function is not None else [])))


def _counts(loop: ast.For) -> bool:
    """Whether a loop counts; one that takes steps counts them too, so only what it does without gradients matters."""
    inside = list(ast.walk(loop))
    if any(_method(node) in TRAINS for node in inside):
        inside = [part for node in inside if switches_gradients_off(node) for part in ast.walk(node)]
    return any(isinstance(node, ast.AugAssign) or _method(node) in COUNTS for node in inside)


def _method(node: ast.AST) -> str:
    return node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""


def _schedules(module: Module, prepares: list[Prepare]) -> Iterator[tuple[ast.Call, str]]:
    """Schedulers whose number of steps fits neither what is prepared nor what is not."""
    for call in module.calls(*SCHEDULERS) if splits_batches(module) is not True else ():
        name = _assigned_name(module, call)
        steps = argument(call, SCHEDULERS[called_name(module, call)], "num_training_steps")
        here = [prepare for prepare in prepares if prepare.scope is module.scope_of[call]]
        if name is None or steps is None or not here:
            continue
        parts = list(_reached(module, steps))
        if any(isinstance(part, ast.Attribute) and part.attr == "num_processes" for part in parts):
            continue
        is_prepared = any(name in prepare.given for prepare in here)
        lengths = [
            (part.lineno, prepare.call.lineno) for part in parts for prepare in here if _is_length(part, prepare)
        ]
        if is_prepared and any(length > prepared for length, prepared in lengths):
            yield (
                call,
                "The scheduler is prepared, and its steps are counted after prepare(): it is at its end after 1/N.",
            )
        elif not is_prepared and lengths and all(length < prepared for length, prepared in lengths):
            yield (
                call,
                "The scheduler is not prepared, and its steps are counted before prepare(): only 1/N of it is used.",
            )


def _assigned_name(module: Module, call: ast.Call) -> str | None:
    statement = module.statement(call)
    target = targets_of(statement)[0] if is_assignment(statement) and statement.value is call else None
    return target.id if isinstance(target, ast.Name) else None


def _is_length(node: ast.AST, prepare: Prepare) -> bool:
    """Whether this is `len(loader)` of a loader that is prepared."""
    if not (is_call_by_name(node, "len") and node.args):
        return False
    return isinstance(node.args[0], ast.Name) and node.args[0].id in prepare.made


def _reached(module: Module, node: ast.AST, depth: int = 4) -> Iterator[ast.expr]:
    """The parts of an expression, and of what is assigned to the names in it."""
    for part in ast.walk(node):
        if isinstance(part, ast.expr):
            yield part
        if isinstance(part, ast.Name) and depth:
            value = module.value(part)
            if value is not part:
                yield from _reached(module, value, depth - 1)
