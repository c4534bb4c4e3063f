"""Conditions whose answer is written out: the branches that always run, and those that never do."""

import ast

from raymigrate.facts.syntax.nodes import is_negation

ONLY_FOR_TYPES = "TYPE_CHECKING"  # False wherever code runs


def truth_of(test: ast.expr) -> bool | None:
    """Whether a condition holds: `True`, `not 0`, `not TYPE_CHECKING`; None where that is decided at run time."""
    if is_negation(test):
        holds = truth_of(test.operand)
        return None if holds is None else not holds
    if isinstance(test, ast.Constant):
        return bool(test.value)
    name = getattr(test, "id", getattr(test, "attr", ""))
    return False if name == ONLY_FOR_TYPES else None


def ways_of(branch: ast.If) -> tuple[list[list[ast.stmt]], list[list[ast.stmt]]]:
    """The blocks of an `if` that may run, and those that never do."""
    holds = truth_of(branch.test)
    if holds is None:
        return [branch.body, branch.orelse], []
    return ([branch.body], [branch.orelse]) if holds else ([branch.orelse], [branch.body])
