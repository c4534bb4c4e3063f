"""RM828: end_training() before the last use of the process group, which it destroys (accelerate 1.15, accelerator.py).

The examples of accelerate called it before they saved the model, as long as it only closed the trackers.
"""

import ast
from collections.abc import Sequence
from itertools import takewhile

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.all_workers import functions_of, is_accelerator
from raymigrate.codemods.to_ray.script import ends_process
from raymigrate.edits.plan import Code
from raymigrate.facts.projects.callees import callees
from raymigrate.facts.syntax.comments import comments_of, comments_over
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import LEAVES, names_in
from raymigrate.facts.syntax.scopes import FUNCTIONS, LOOPS, FunctionNode
from raymigrate.facts.values import last_name
from raymigrate.facts.values.bindings import TRY

COLLECTIVES = ("prepare", "gather", "gather_for_metrics", "reduce", "save_state", "wait_for_everyone")
DESTROYED = "end_training() has destroyed the process group that Ray made"
RAISES = "this raises a ValueError, or hangs."


def end_last(context: Context, rule: Rule, call: ast.Call) -> None:
    """Moves end_training() behind what needs the process group, or tells where it stands too early.

    Args:
        context: The script.
        rule: The rule that speaks of it.
        call: The call of end_training().
    """
    module = context.module
    later = _later(module, call)
    if not later:
        return
    step = _step(module, call)
    between = _between(module, step, call, later) if step is not None else []
    if step is None or not between or not _means_the_same_behind(step, between):
        for other in later:
            context.manual(rule, other, f"{DESTROYED}: {RAISES}", "Call end_training() last.")
    elif context.converts(
        rule, call, f"{DESTROYED}, before it is used in line {later[0].lineno}; now it is behind it."
    ):
        context.plan.statement(step).removed = True
        context.plan.statement(between[-1]).after.append(_again(module, step, call))


def _later(module: Module, call: ast.Call) -> list[ast.Call]:
    """The calls behind it that need the process group: by themselves, or by a function they call.

    They may be in its function, and in those that call this one: `job.train(); job.save()`.
    """
    needing = {other for other, owner in module.method_calls(*COLLECTIVES) if is_accelerator(module, owner.value)}
    homes = {function for other in needing if isinstance(function := module.function(other), FUNCTIONS)}
    found, ways, ends = dict[ast.Call, None](), list[ast.AST]([call]), set[ast.AST | None]()
    again = dict[ast.Call, None]()
    for way in ways:  # which grows meanwhile
        home = module.function(way)
        for other in module.calls_by_function.get(home, ()):
            kept = found if _is_behind(module, way, other) else again
            if kept is again and not _is_in_next_round(module, way, other):
                continue
            if other in needing or homes & functions_of(module, other):
                kept.setdefault(other)
        if isinstance(home, FUNCTIONS) and home not in ends:
            ends.add(home)
            ways += [use for use in module.of_type(ast.Call) if _is_call_of(module, use, home)]
    return [*found] or [*again][:1]


def _is_call_of(module: Module, call: ast.Call, function: FunctionNode) -> bool:
    """Whether a call is one of a function or method of the same file."""
    name = function.name if not isinstance(function, ast.Lambda) else None
    return last_name(call.func) == name and any(callee.function is function for callee in callees(module, call.func))


def _is_behind(module: Module, earlier: ast.AST, later: ast.AST) -> bool:
    """Whether code of a function may run once other code of it has: it stands below it, and no way there ends first."""
    if module.start(later) <= module.start(earlier) or module.inside(later, earlier):
        return False
    outer = _goes_on_to(module, earlier, later)
    return outer is not None and not _is_another_way(module, outer, earlier, later)


def _is_in_next_round(module: Module, earlier: ast.AST, later: ast.AST) -> bool:
    """Whether code of a loop may run once other code of it has, which stands below it or is the same.

    What a condition chooses that changes from round to round may be done in the last one: `if epoch == last:`.
    """
    function = module.function(earlier)
    around = [*takewhile(lambda outer: outer is not function, module.ancestors(earlier))]
    loop = next((outer for outer in around if isinstance(outer, LOOPS) and module.inside(later, outer)), None)
    inner = [*takewhile(lambda outer: outer is not loop, [module.statement(earlier), *around])]
    run = [statement for part in inner for statement in _from(module, part)]
    if loop is None or any(isinstance(statement, ast.Break) or _ends(module, statement) for statement in run):
        return False
    parts = [*ast.walk(loop)]
    tests = [part.test for part in inner if isinstance(part, ast.If)]
    chosen = any(isinstance(part, (ast.match_case, ast.ExceptHandler)) for part in inner)
    return not chosen and not any(names_in(test) & _bound_in(parts) or _may_change(test, parts) for test in tests)


def _goes_on_to(module: Module, earlier: ast.AST, later: ast.AST) -> ast.AST | None:
    """The innermost statement around both, unless the earlier code, or what is below it on the way there, leaves."""
    part: ast.AST = module.statement(earlier)
    while not module.inside(later, outer := module.parent_of[part]):
        part = outer if (left := _left(module, part)) is None else left
        if part is not outer and module.inside(later, part):
            return None
    return outer


def _left(module: Module, part: ast.AST) -> ast.AST | None:
    """What a statement, or one below it in its block, leaves for good: the file, by `return`, or a loop, by `break`."""
    for statement in _from(module, part):
        if _ends(module, statement):
            return module.tree
        if isinstance(statement, (ast.Break, ast.Continue)):
            return next(outer for outer in module.ancestors(statement) if isinstance(outer, LOOPS))
    return None


def _from(module: Module, part: ast.AST) -> list[ast.stmt]:
    """A statement, and those below it in its block: it may be `return train()`."""
    if not isinstance(part, ast.stmt):
        return []
    block = module.block_of(part)
    return block[block.index(part) :]


def _ends(module: Module, statement: ast.stmt) -> bool:
    """Whether a statement ends the function or the process."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    is_exit = isinstance(value, ast.Call) and ends_process(module, value.func)
    return is_exit or isinstance(statement, (ast.Return, ast.Raise))


def _is_another_way(module: Module, outer: ast.AST, earlier: ast.AST, later: ast.AST) -> bool:
    """Whether a statement runs one of two pieces of code in it only: in an arm, a case, or where an error is caught."""
    arms: list[list[ast.AST]] = []
    if isinstance(outer, ast.If):
        arms = [[*outer.body], [*outer.orelse]]
    elif isinstance(outer, ast.Match):
        arms = [[case] for case in outer.cases]
    elif isinstance(outer, TRY):
        last = outer.body[-1]  # behind it nothing is left that raises an error
        arms = [[last], *([handler] for handler in outer.handlers)]
    held = [arm for arm in arms if any(module.inside(node, step) for node in (earlier, later) for step in arm)]
    return len(held) > 1


def _step(module: Module, call: ast.Call) -> ast.stmt | None:
    """The statement that ends the training and does nothing else: the call, or `if args.with_tracking:` around it."""
    statement = module.statement(call)
    if not isinstance(statement, ast.Expr) or statement.value is not call:
        return None
    around = module.parent_of[statement]
    return around if isinstance(around, ast.If) and around.body == [statement] and not around.orelse else statement


def _again(module: Module, step: ast.stmt, call: ast.Call) -> Code:
    """The same statement once more, with the comments over it and a blank line before it."""
    near = step.lineno - 1 - len(comments_over(module, step))
    above = takewhile(lambda line: line.strip()[:1] in ("", "#"), reversed(module.lines[:near]))
    margin = " " * module.start(step)[1] + "#"  # deeper ones are of the block before it, and stay there
    apart = "".join(f"{line.strip()}\n\n" for line in reversed([*above]) if line.startswith(margin))
    start = f"\n{apart.replace('$', '$ ')}{comments_of(module, step)}"
    if isinstance(step, ast.If):
        return Code(f"{start}if $test:\n    $call\n", {"test": step.test, "call": call})
    return Code(f"{start}$call\n", {"call": call})


def _between(module: Module, step: ast.stmt, call: ast.Call, later: Sequence[ast.Call]) -> list[ast.stmt]:
    """The statements behind it, in its block, up to the last that names the Accelerator or needs the process group.

    Args:
        step: The statement that ends the training.
        call: The call of end_training() in it.
        later: The calls that need the process group: where one is elsewhere, the list is empty.
    """
    block = module.block_of(step)
    behind = block[block.index(step) + 1 :]
    if not all(any(module.inside(other, statement) for statement in behind) for other in later):
        return []
    assert isinstance(call.func, ast.Attribute)
    names = names_in(call.func)
    using = [s for s in behind if any(p in later or getattr(p, "id", None) in names for p in ast.walk(s))]
    return behind[: behind.index(using[-1]) + 1]


def _means_the_same_behind(step: ast.stmt, between: Sequence[ast.stmt]) -> bool:
    """Whether the statement is run behind the others just as before them: none leaves, or changes what it reads."""
    parts = [part for statement in between for part in ast.walk(statement)]
    leaves = any(isinstance(part, LEAVES) for part in parts)
    changed = isinstance(step, ast.If) and _may_change(step.test, parts)
    return not leaves and not changed and names_in(step).isdisjoint(_bound_in(parts))


def _bound_in(parts: Sequence[ast.AST]) -> set[str]:
    return {part.id for part in parts if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)}


def _may_change(test: ast.expr, parts: Sequence[ast.AST]) -> bool:
    """Whether code stores something in an object, or calls a method of one that a condition reads."""
    read = names_in(test)
    methods = [part.func for part in parts if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute)]
    stored = any(isinstance(p, (ast.Attribute, ast.Subscript)) and not isinstance(p.ctx, ast.Load) for p in parts)
    return stored or any(isinstance(method.value, ast.Name) and method.value.id in read for method in methods)
