"""Rows of a gathered batch that are counted up to a fixed number: there are those of all processes in it."""

import ast
from collections.abc import Iterable

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.gathering import Gathering
from raymigrate.codemods.to_accelerate.rules import RM858
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import free_name

LENGTHS = frozenset({"len", "size", "shape", "numel"})


def tell_fixed_rows(changes: Changes, module: Module, gatherings: Iterable[Gathering]) -> None:
    """Tells of loops such as `for i in range(4)` over rows that are gathered before.

    Args:
        changes: The edits.
        module: The module.
        gatherings: The evaluation loops whose rows are gathered.
    """
    for found in gatherings:
        names = {found.name, *found.labels, *found.texts}
        for loop in module.below(found.loop.node):
            end = _fixed_end(module, loop)
            if end is not None and isinstance(loop, ast.For) and _indexes(loop, names):
                changes.manual(
                    RM858,
                    loop,
                    "Under several processes a gathered batch holds the rows of all of them, and"
                    f" {module.source(loop.iter)} goes over the first ones only.",
                    "Go over all rows that are there, as with range(len(labels)).",
                )


def _fixed_end(module: Module, loop: ast.AST) -> ast.expr | None:
    """The end of a range that a loop goes over, if it does not ask for the length of anything."""
    call = loop.iter if isinstance(loop, ast.For) else None
    if not isinstance(call, ast.Call) or free_name(module, call.func) != "range" or len(call.args) != 1:
        return None
    end = module.value(call.args[0])
    asked = {getattr(part, "id", getattr(part, "attr", "")) for part in ast.walk(end)}
    return None if asked & LENGTHS else end


def _indexes(loop: ast.For, names: set[str]) -> bool:
    """Whether a loop takes one row after the other of something."""
    target = loop.target.id if isinstance(loop.target, ast.Name) else ""
    return any(
        isinstance(part, ast.Subscript)
        and isinstance(part.value, ast.Name)
        and part.value.id in names
        and isinstance(part.slice, ast.Name)
        and part.slice.id == target
        for part in ast.walk(loop)
    )
