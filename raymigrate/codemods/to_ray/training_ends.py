"""RM828: end_training() before the last use of the process group, which it destroys (accelerate 1.15, accelerator.py).

The examples of accelerate called it before they saved the model, as long as it only closed the trackers.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.edits.plan import Code
from raymigrate.facts.syntax.comments import comments_of
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import blocks

COLLECTIVES = ("prepare", "gather", "gather_for_metrics", "reduce", "save_state", "wait_for_everyone")
DESTROYED = "end_training() has destroyed the process group that Ray made"
RAISES = "this raises a ValueError, or hangs."
LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Continue)


def end_last(context: Context, rule: Rule, call: ast.Call) -> None:
    """Moves end_training() behind what needs the process group, or tells where it stands too early.

    Args:
        context: The script.
        rule: The rule that speaks of it.
        call: The call of end_training().
    """
    module = context.module
    later = [
        other
        for other, _ in module.method_calls(*COLLECTIVES)
        if other.lineno > call.lineno and module.function(other) is module.function(call)
    ]
    if not later:
        return
    step = _step(module, call)
    between = _between(module, step, call, later) if step is not None else []
    if step is None or not between or not _means_the_same_behind(module, step, between):
        for other in later:
            context.manual(rule, other, f"{DESTROYED}: {RAISES}", "Call end_training() last.")
    elif context.converts(
        rule, call, f"{DESTROYED}, before it is used in line {later[0].lineno}; now it is behind it."
    ):
        context.plan.statement(step).removed = True
        context.plan.statement(between[-1]).after.append(_again(module, step, call))


def _step(module: Module, call: ast.Call) -> ast.stmt | None:
    """The statement that ends the training and does nothing else: the call, or `if args.with_tracking:` around it."""
    statement = module.statement(call)
    if not isinstance(statement, ast.Expr) or statement.value is not call:
        return None
    around = module.parent_of[statement]
    return around if isinstance(around, ast.If) and around.body == [statement] and not around.orelse else statement


def _again(module: Module, step: ast.stmt, call: ast.Call) -> Code:
    """The same statement once more, with the comments over it and a blank line before it."""
    start = f"\n{comments_of(module, step)}"
    if isinstance(step, ast.If):
        return Code(f"{start}if $test:\n    $call\n", {"test": step.test, "call": call})
    return Code(f"{start}$call\n", {"call": call})


def _between(module: Module, step: ast.stmt, call: ast.Call, later: Sequence[ast.Call]) -> list[ast.stmt]:
    """The statements behind it, in its block, up to the last that names the Accelerator.

    Args:
        module: The module.
        step: The statement that ends the training.
        call: The call of end_training() in it.
        later: The calls that need the process group: where one is elsewhere, the list is empty.
    """
    block = next((block for block in blocks(module.parent_of[step]) if step in block), [])
    behind = block[block.index(step) + 1 :] if step in block else []
    if not all(any(module.inside(other, statement) for statement in behind) for other in later):
        return []
    assert isinstance(call.func, ast.Attribute)
    names = {part.id for part in ast.walk(call.func) if isinstance(part, ast.Name)}
    naming = [s for s in behind if any(isinstance(p, ast.Name) and p.id in names for p in ast.walk(s))]
    return behind[: behind.index(naming[-1]) + 1] if naming else []


def _means_the_same_behind(module: Module, step: ast.stmt, between: Sequence[ast.stmt]) -> bool:
    """Whether the statement is run behind the others just as before them: none leaves, or binds what it reads."""
    parts = [part for statement in between for part in ast.walk(statement)]
    read = {part.id for part in ast.walk(step) if isinstance(part, ast.Name)}
    bound = {part.id for part in parts if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)}
    stored = any(isinstance(p, ast.Attribute) and not isinstance(p.ctx, ast.Load) for p in parts)
    is_bare = isinstance(step, ast.Expr)
    return read.isdisjoint(bound) and (is_bare or not stored) and not any(isinstance(part, LEAVES) for part in parts)
