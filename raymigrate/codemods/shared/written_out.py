"""Arguments of a legacy trainer that stand in a dict of its own come into the call, where every rule finds them."""

import ast
from bisect import bisect_left, bisect_right

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.facts.projects.takers import takers
from raymigrate.facts.syntax.comments import comments_in
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values.own_dicts import Unpacked, unpacked_alone


def write_out(context: Context, call: ast.Call, rule: Rule) -> None:
    """Lets a trainer take its arguments one by one, if it alone makes use of the dict that it unpacks.

    Args:
        context: The module.
        call: The trainer.
        rule: What tells of arguments that cannot be seen.
    """
    context.module.as_written(call)
    found = dict_of_its_own(context.module, call)
    if found is None:
        return
    name = context.module.source(call.func).rpartition(".")[2]
    given = context.module.source(found.keyword.value) if found.statements else "a dict"
    message = f"{name} is gone from Ray >= 2.9, and took its arguments out of {given}; now they stand in the call."
    if context.converts(rule, call, message):
        take_out_of_dict(context, call)
        context.module.write_out(call, found.keyword, found.entries)


def dict_of_its_own(module: Module, call: ast.Call) -> Unpacked | None:
    """The dict that a call unpacks, if nothing else makes use of it, and nobody says anything of its entries."""
    found = unpacked_alone(module, call)
    return None if found is None or _is_more_than_code(module, call, found) else found


def take_out_of_dict(context: Context, call: ast.Call) -> None:
    """Puts the entries of the dict of its own that a call unpacks, if there is one, into the call in place of it."""
    found = dict_of_its_own(context.module, call)
    if found is not None:
        context.plan.write_out(call, found.entries)
        for statement in found.statements:
            edit = context.plan.statement(statement)
            edit.removed = edit.comments_stay = True


def _is_more_than_code(module: Module, call: ast.Call, found: Unpacked) -> bool:
    """Whether there are comments beside the entries, or another file takes the dict."""
    given = found.keyword.value
    places = [(module.start(part)[0], module.end(part)[0]) for part in (*found.statements, given)]
    lines = _commented_lines(module)
    commented = any(bisect_left(lines, first) < bisect_right(lines, last) for first, last in places)
    is_global = isinstance(given, ast.Name) and module.function(call) is None
    return commented or (is_global and any(takers(module, module.source(given))))


@kept
def _commented_lines(module: Module) -> list[int]:
    return sorted(comment.line for comment in comments_in(module))
