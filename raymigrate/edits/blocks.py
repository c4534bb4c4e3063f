"""Blank lines around statements that are new in a block."""

from collections.abc import Collection, Sequence
from itertools import pairwise

import libcst as cst

Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement


def is_definition(statement: cst.CSTNode) -> bool:
    """Whether a statement defines a function or class, which blank lines set off."""
    return isinstance(statement, (cst.FunctionDef, cst.ClassDef))


def _blank_lines(statement: cst.CSTNode) -> int:
    """Blank lines before a statement and the comments that stand over it."""
    lines = 0
    for line in statement.leading_lines:  # type: ignore[attr-defined]
        if line.comment:
            break
        lines += 1
    return lines


def spaced(body: Sequence[cst.BaseStatement], new: Collection[int], wanted: int) -> list[cst.BaseStatement]:
    """Sets new definitions off by blank lines, and what follows them; other statements stay as they are.

    Args:
        body: Statements of one block.
        new: Identities of the statements that were not there before.
        wanted: Number of blank lines around definitions in this block.
    """
    result = list(body[:1])
    for previous, statement in pairwise(body):
        touched = id(statement) in new or id(previous) in new
        there = _blank_lines(statement)
        wrong = there < wanted or (there > wanted and id(statement) in new)
        if touched and wrong and (is_definition(previous) or is_definition(statement)):
            lines = [cst.EmptyLine(indent=False)] * wanted
            kept = statement.leading_lines[there:]  # type: ignore[attr-defined]
            statement = statement.with_changes(leading_lines=[*lines, *kept])
        result.append(statement)
    return result


def hand_over_blank_lines(group: list[Statement], anchor: cst.CSTNode, *, blank_line: bool) -> list[Statement]:
    """Moves the blank lines before a statement to the first of the new statements that come before it.

    Args:
        group: The new statements and the one that they come before.
        anchor: That one.
        blank_line: Whether a blank line stays before it.
    """
    count = _blank_lines(anchor)
    lines = anchor.leading_lines  # type: ignore[attr-defined]
    first = group[0].with_changes(leading_lines=[*lines[:count], *group[0].leading_lines])
    own = [*([cst.EmptyLine(indent=False)] if blank_line else []), *lines[count:]]
    rest = [s.with_changes(leading_lines=own) if s is anchor else s for s in group[1:]]
    return [first, *rest]
