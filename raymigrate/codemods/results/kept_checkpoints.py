"""RM604: a place in best_checkpoints, where the last checkpoint stands besides the best since Ray 2.7.

docs/semantics/results.md#attributes-of-a-result
"""

import ast
from collections.abc import Iterator
from typing import TypeGuard

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.results.results import RM604, SCORE, of_trainer, sets_how_many
from raymigrate.facts.projects.callers import is_used_elsewhere
from raymigrate.facts.ray_train.results import fitted_trainers, trainers_of
from raymigrate.facts.ray_tune.tuners import config_names
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import (
    Source,
    called_name,
    free_name,
    given_by_name,
    has_starred,
    is_none,
    named_arguments,
    unpacked_dicts,
)

LAST_AMONG_BEST = (2, 7)
CHECKPOINT_CONFIGS = (*config_names("CheckpointConfig"), "ray.tune.CheckpointConfig")
MESSAGE = (
    "result.best_checkpoints holds the last checkpoint too since Ray 2.7, whatever its score, and the one with the"
    " worst score comes first"
)
OTHER = "this may be another one now"
MORE = "there may be more of them than are unpacked here"
BEST = "The best is result.best_checkpoints[-1]."
SHUFFLES = ("random.shuffle", "numpy.random.shuffle")
FILLS = ("append", "insert", "extend")
COPIES = ("list", "tuple", "iter", "copy.copy", "copy.deepcopy")  # which keep the order


@codemod("best_checkpoints", phase=Phase.RESULTS)
def kept_checkpoints(context: Context) -> None:
    """Takes the best checkpoint from the end, where it was the only one; tells of other places in the list."""
    module, ray = context.module, context.from_ray
    if not context.of_legacy_job or ray.lowest >= LAST_AMONG_BEST:
        return
    put_in_order = _put_in_order(module)
    for item, pairs, change in _items(module):
        results = _results(module, pairs)
        if results and any(_surely_runs_first(module, o, item) for o in put_in_order.get(_made_by(module, pairs), ())):
            continue
        numbers = {number for result in results for number in _numbers_kept(result)}
        if numbers <= {None}:
            continue
        is_sure = all(None not in trainers_of(result.module, result.node) for result in results)
        is_sure = (
            is_sure
            and not put_in_order
            and not _is_changed(module)
            and all(_is_list(one.node) for one in module.origins(pairs))
        )
        is_sure = is_sure and not _may_come_from_elsewhere(module, pairs, results)
        is_sure = is_sure and (not isinstance(item, ast.Subscript) or len(_zipped(module, item.value)) <= 1)
        first = _read_first(module, item)
        if first is not None and numbers == {1} and is_sure and ray.surely_before(LAST_AMONG_BEST):
            if context.converts(RM604, item, f"{MESSAGE}; now [-1]."):
                context.plan.replace(first, "-1")
        else:
            context.manual(RM604, item, of_trainer(f"{MESSAGE}: {change}.", *results), BEST)


def _items(module: Module) -> Iterator[tuple[ast.expr, ast.expr, str]]:
    """What takes something out of a list by its place from the front, with the list, and what may come of it."""
    for item in module.of_type(ast.Subscript):
        first = item.slice.upper if isinstance(item.slice, ast.Slice) else item.slice
        if isinstance(place := module.constant(first), int) and place >= 0:
            yield item, _column(module, item.value) or item.value, OTHER
    for call, method in module.method_calls("pop"):
        if call.args and module.constant(call.args[0]) == 0:
            yield call, method.value, OTHER
    for call in module.of_type(ast.Call):
        if call.args and free_name(module, call.func) == "next":
            yield call, call.args[0], OTHER
    for statement in module.of_type(ast.Assign):
        targets = getattr(statement.targets[0], "elts", [])
        if targets and not isinstance(targets[0], ast.Starred):
            yield statement.value, statement.value, OTHER if has_starred(targets) else MORE
    for loop in module.of_type(ast.For):
        if _may_end_early(loop):
            yield loop.iter, loop.iter, OTHER


def _may_end_early(loop: ast.For) -> bool:
    """Whether a loop may leave at its first item; one that looks for a value, `if metrics["epoch"] == 3`, may not."""
    tests = [step for step in loop.body if isinstance(step, ast.If)]
    asked = [step for step in tests if not any(isinstance(part, ast.Eq) for part in ast.walk(step.test))]
    steps = [*loop.body, *(inner for step in asked for inner in step.body)]
    return any(isinstance(step, (ast.Break, ast.Return)) for step in steps)


def _column(module: Module, node: ast.expr) -> ast.expr | None:
    """The pairs whose first or second parts a value is: of `checkpoints, metrics = zip(*pairs)`, of `zipped[0]`."""
    for one in _zipped(module, node):
        match one.node if one.module is module else None:
            case ast.Call(func=ast.Name(id="zip"), args=[ast.Starred(value=pairs)]) if _results(module, pairs):
                return pairs
    return None


def _zipped(module: Module, node: ast.expr) -> list[Source]:
    """What a value may be a part of, behind copies of it: `zipped = list(zipped)` may stand in a loop."""
    whole = node.value if isinstance(node, ast.Subscript) else None
    target = module.definition(node) if whole is None else None
    if isinstance(target, ast.Name) and isinstance(outer := module.parent_of[target], (ast.Tuple, ast.List)):
        whole = module.assigned(outer)
    waiting = [*module.origins(whole)] if whole is not None else []
    seen = set[ast.AST]()
    found = list[Source]()
    while waiting:
        one = waiting.pop()
        copied = _copied(one.module, one.node)
        if one.node not in seen and copied is None:
            found.append(Source(one.module, one.node))
        elif one.node not in seen:
            waiting += one.module.origins(copied)
        seen.add(one.node)
    return found


def _read_first(module: Module, item: ast.expr) -> ast.expr | None:
    """The number in `pairs[0]`, where that is read; None of anything else."""
    if isinstance(item, ast.Subscript) and isinstance(item.ctx, ast.Load) and module.constant(item.slice) == 0:
        return item.slice
    return None


def _results(module: Module, pairs: ast.expr) -> list[Source]:
    """The results whose best_checkpoints a value may be, or may have been copied from in their order."""
    found = []
    waiting, seen = [*module.origins(pairs)], set[ast.AST]()
    while waiting:
        one = waiting.pop()
        if one.node in seen:
            continue
        seen.add(one.node)
        if _is_list(one.node):
            found.append(Source(one.module, one.node.value))
        else:
            waiting += one.module.origins(_copied(one.module, one.node))
    return found


def _copied(module: Module, node: ast.AST) -> ast.expr | None:
    """What a value is a copy of that keeps the order, perhaps without some; None of anything else."""
    match node:
        case ast.ListComp() | ast.GeneratorExp():
            return node.generators[0].iter
        case ast.Subscript(slice=ast.Slice(lower=None, step=None)):
            return node.value
        case ast.List(elts=[ast.Starred(value=copied), *_]) | ast.Tuple(elts=[ast.Starred(value=copied), *_]):
            return copied
        case ast.Call(func=ast.Attribute(value=copied, attr="copy"), args=[]):
            return copied
        case ast.Call(args=[copied, *_]) if (
            free_name(module, node.func) in COPIES or called_name(module, node) in COPIES
        ):
            return copied
    return None


def _is_list(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and node.attr == "best_checkpoints"


def _put_in_order(module: Module) -> dict[frozenset[ast.AST], list[ast.Call]]:
    """The lists that the script gives an order of its own, which decides what is first, with what does so."""
    found: dict[frozenset[ast.AST], list[ast.Call]] = {}
    for call, method in module.method_calls("sort", "reverse"):
        if _results(module, method.value):
            found.setdefault(_made_by(module, method.value), []).append(call)
    return found


def _is_changed(module: Module) -> bool:
    """Whether the script shuffles one of the lists, which did nothing to a list of one, or puts more into it."""
    shuffled = [*module.calls(*SHUFFLES), *(call for call, _ in module.method_calls("shuffle"))]
    changed = [call.args[0] for call in shuffled if call.args]
    changed += [method.value for name in FILLS for _, method in module.method_calls(name)]
    return any(_results(module, given) for given in changed)


def _surely_runs_first(module: Module, call: ast.Call, item: ast.expr) -> bool:
    """Whether a call runs before an item is taken, whatever conditions hold: both are below one block of a function."""
    if module.function(call) is not module.function(item) or module.start(call) > module.start(item):
        return False
    block = module.block_of(module.statement(call))
    around = (node for node in (module.statement(item), *module.ancestors(item)) if isinstance(node, ast.stmt))
    return any(module.block_of(statement) is block for statement in around)


def _made_by(module: Module, pairs: ast.expr) -> frozenset[ast.AST]:
    """What tells a list from others: what made the result that it is of, or what copied it."""
    lists = module.origins(pairs)
    made = [one.module.origins(one.node.value) if _is_list(one.node) else [one] for one in lists]
    return frozenset(source.node for several in made for source in several)


def _may_come_from_elsewhere(module: Module, pairs: ast.expr, results: list[Source]) -> bool:
    """Whether a list is what a function gets, or in it, that other files may call as well."""
    values = [pairs, *(result.node for result in results if result.module is module)]
    return any(isinstance(module.definition(value), ast.arg) for value in values) and is_used_elsewhere(module, pairs)


def _numbers_kept(result: Source) -> Iterator[object]:
    """How many checkpoints each run keeps that keeps the best by a score: None for others, `...` if it is not seen."""
    for trainer in fitted_trainers(result.module, result.node) or []:
        for made in trainer.module.origins(trainer.node):
            runs = _given(made, "run_config")
            found = [checkpoints for run in runs for checkpoints in _given(run, "checkpoint_config")]
            yield from map(_number, found) if found else (None,)


def _given(made: Source, name: str) -> list[Source]:
    """What a call may be given for one argument, by its name or in a dict that it unpacks."""
    given = given_by_name(made.module, made.node).get(name) if isinstance(made.node, ast.Call) else None
    return made.module.origins(given)


def _number(checkpoints: Source) -> object:
    module, call = checkpoints.module, checkpoints.node
    if is_none(call):
        return None
    if not isinstance(call, ast.Call) or module.qualified(call.func) not in CHECKPOINT_CONFIGS or sets_how_many(module):
        return ...
    given = named_arguments(call, ("num_to_keep", SCORE)) | given_by_name(module, call)
    number, score = given.get("num_to_keep"), given.get(SCORE)
    if number is None or score is None:
        return ... if any(module.entries(hidden) is None for hidden in unpacked_dicts(call)) else None
    if is_none(module.value(number)) or is_none(module.value(score)):
        return None
    seen = module.constant(number)
    return seen if isinstance(seen, int) else ...
