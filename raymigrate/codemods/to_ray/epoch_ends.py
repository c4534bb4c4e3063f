"""RM823: where an epoch of an Accelerate script ends, early ones too, and where it reports to Ray."""

import ast
from collections.abc import Iterator
from itertools import takewhile

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.script import DEFINITIONS, executed
from raymigrate.edits.plan import Code
from raymigrate.facts.syntax.nodes import names_in

Loop = ast.For | ast.While
EARLY = (
    "An epoch that {} here is not reported: what is reported is not there yet. result.metrics and result.checkpoint are"
    " those of the last epoch that came to its end."
)


def put_report(context: Context, rule: Rule, loop: Loop, text: str) -> None:
    """Puts code at the end of an epoch, before what may leave the loop early once the metrics are there.

    Args:
        context: The module.
        rule: The rule that tells of epochs which end before.
        loop: The loop over epochs.
        text: The code.
    """
    module, names = context.module, names_in(ast.parse(text))
    given = [
        number
        for number, statement in enumerate(loop.body)
        if any(isinstance(node, (ast.For, ast.While)) for node in executed(module, statement))
        or _binds(statement, names)
    ]
    behind = loop.body[max(given, default=-1) + 1 :]
    leaving = next((statement for statement in behind if leaves(statement)), None)
    for early in (end for step in takewhile(lambda step: step is not leaving, loop.body) for end in _ends(step)):
        context.note(rule, early, EARLY.format("is left" if isinstance(early, ast.Continue) else "ends the loop"))
    if leaving is None:
        context.plan.statement(loop.body[-1]).after.append(Code(text))
    else:
        context.plan.statement(leaving).before.append(Code(text))


def _binds(statement: ast.stmt, names: set[str]) -> bool:
    """Whether a statement gives one of these names a value, or hands on what is reported."""
    return any(
        isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Store)
        for node in ast.walk(statement)
    )


def leaves(statement: ast.AST) -> bool:
    """Whether a statement of a loop can end it, or the rest of its body."""
    return any(True for _ in _ends(statement))


def _ends(statement: ast.AST, *, is_inner: bool = False) -> Iterator[ast.stmt]:
    """Where a statement of a loop, or of a loop in it, ends the outer one or the rest of its body."""
    if isinstance(statement, ast.Return) or (isinstance(statement, (ast.Break, ast.Continue)) and not is_inner):
        yield statement
    if isinstance(statement, DEFINITIONS):
        return
    is_loop = isinstance(statement, (ast.For, ast.While))
    again = statement.orelse if isinstance(statement, (ast.For, ast.While)) else []  # its break is the outer one's
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            yield from _ends(child, is_inner=is_inner or (is_loop and child not in again))
