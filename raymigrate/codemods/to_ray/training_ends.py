"""RM828: end_training() before the last use of the process group, which it destroys (accelerate 1.15, accelerator.py).

The examples of accelerate called it before they saved the model, as long as it only closed the trackers.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import takewhile

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.all_workers import functions_of, is_accelerator
from raymigrate.edits.plan import Code
from raymigrate.facts.projects.callees import callees
from raymigrate.facts.syntax.comments import comments_of, comments_over
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import LEAVES
from raymigrate.facts.syntax.scopes import FUNCTIONS, FunctionNode
from raymigrate.facts.values import last_name

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
    for way in ways:  # which grows meanwhile
        home = module.function(way)
        for other in _calls_in(module, home):
            if _is_behind(module, way, other) and (other in needing or homes & functions_of(module, other)):
                found.setdefault(other)
        if isinstance(home, FUNCTIONS) and home not in ends:
            ends.add(home)
            ways += [use for use in module.of_type(ast.Call) if _is_call_of(module, use, home)]
    return [*found]


def _calls_in(module: Module, function: ast.AST | None) -> list[ast.Call]:
    """The calls in a function, or at the top of a module."""
    return [call for call in module.of_type(ast.Call) if module.function(call) is function]


def _is_call_of(module: Module, call: ast.Call, function: FunctionNode) -> bool:
    """Whether a call is one of a function or method of the same file."""
    name = function.name if not isinstance(function, ast.Lambda) else None
    return last_name(call.func) == name and any(callee.function is function for callee in callees(module, call.func))


def _is_behind(module: Module, earlier: ast.AST, later: ast.AST) -> bool:
    """Whether code of a function may run once other code of it has: it stands below it, and no way there ends first."""
    if module.start(later) <= module.start(earlier) or module.inside(later, earlier):
        return False
    part: ast.AST = module.statement(earlier)
    while not module.inside(later, outer := module.parent_of[part]):
        if isinstance(part, ast.stmt):
            block = module.block_of(part)
            if any(isinstance(statement, (ast.Return, ast.Raise)) for statement in block[block.index(part) + 1 :]):
                return False
        part = outer
    arms = (outer.body, outer.orelse) if isinstance(outer, ast.If) else ()
    held = [arm for arm in arms if any(module.inside(node, step) for node in (earlier, later) for step in arm)]
    return len(held) < 2


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
        module: The module.
        step: The statement that ends the training.
        call: The call of end_training() in it.
        later: The calls that need the process group: where one is elsewhere, the list is empty.
    """
    block = module.block_of(step)
    behind = block[block.index(step) + 1 :]
    if not all(any(module.inside(other, statement) for statement in behind) for other in later):
        return []
    assert isinstance(call.func, ast.Attribute)
    names = {part.id for part in ast.walk(call.func) if isinstance(part, ast.Name)}
    using = [s for s in behind if any(p in later or getattr(p, "id", None) in names for p in ast.walk(s))]
    return behind[: behind.index(using[-1]) + 1]


def _means_the_same_behind(step: ast.stmt, between: Sequence[ast.stmt]) -> bool:
    """Whether the statement is run behind the others just as before them: none leaves, or changes what it reads."""
    parts = [part for statement in between for part in ast.walk(statement)]
    read = {part.id for part in ast.walk(step) if isinstance(part, ast.Name)}
    bound = {part.id for part in parts if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)}
    leaves = any(isinstance(part, LEAVES) for part in parts)
    changed = isinstance(step, ast.If) and _may_change(step.test, parts)
    return not leaves and not changed and read.isdisjoint(bound)


def _may_change(test: ast.expr, parts: Sequence[ast.AST]) -> bool:
    """Whether code stores something in an object, or calls a method of one that a condition reads."""
    read = {part.id for part in ast.walk(test) if isinstance(part, ast.Name)}
    methods = [part.func for part in parts if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute)]
    stored = any(isinstance(p, (ast.Attribute, ast.Subscript)) and not isinstance(p.ctx, ast.Load) for p in parts)
    return stored or any(isinstance(method.value, ast.Name) and method.value.id in read for method in methods)
