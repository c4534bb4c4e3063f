"""Conditions on the version of transformers: which branch runs with that of today."""

from __future__ import annotations

import ast
import operator
import re
from functools import cache
from typing import TYPE_CHECKING

from raymigrate.facts.module import Module
from raymigrate.knowledge.versions import LOWEST, read_version

if TYPE_CHECKING:
    from packaging.version import Version

OF_VERSION = re.compile(r"version|__ver__", re.IGNORECASE)
OF_MAJOR = re.compile(r"\b_?(?:(?:IS|is|HF|hf)_)*[Vv][45]\b")  # names that say it: `_V5`, `is_v5`
OURS = "transformers"
MAJOR = re.compile(r"\.split\(|\.major|int\(")
OPERATORS = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge}
TURNED = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}


def is_for_others(module: Module, test: ast.expr, *, of_else: bool) -> bool:
    """Whether a branch is for other versions of transformers than today's, or it is not seen for which it is.

    Args:
        module: The module.
        test: The condition.
        of_else: Whether the branch runs where it does not hold.
    """
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return is_for_others(module, test.operand, of_else=not of_else)
    _, condition = module.followed(test)
    text = text_of(module, test)
    if not tells_versions(text):
        return False
    holds = _holds_today(condition, text)
    return holds is None or holds is of_else


def tells_versions(text: str) -> bool:
    """Whether a condition, as `text_of` gives it, is about the version of transformers."""
    return OF_MAJOR.search(text) is not None or (OURS in text.lower() and OF_VERSION.search(text) is not None)


def text_of(module: Module, test: ast.expr) -> str:
    """A condition as it is written, with what its names stand for, in other files too."""
    home, condition = module.followed(test)
    parts = (part for part in ast.walk(condition) if isinstance(part, (ast.Name, ast.Attribute)))
    ends = (home.followed(part)[1] for part in parts)
    return " ".join(map(ast.unparse, (test, condition, *ends)))


@cache
def _today() -> tuple[Version, Version]:
    """The first and the last version of those that count as today's."""
    lowest = read_version(LOWEST[OURS])
    return lowest, read_version(f"{lowest.major}.999")


def _holds_today(condition: ast.expr, text: str) -> bool | None:
    """Whether a comparison with a version that is written out holds today; None where that is not seen."""
    if not isinstance(condition, ast.Compare) or len(condition.ops) != 1:
        return None
    kind, bound = type(condition.ops[0]), _bound(condition.comparators[0])
    if bound is None:
        kind, bound = TURNED.get(kind, kind), _bound(condition.left)
    if kind not in OPERATORS or bound is None or OURS not in text:
        return None
    compare, is_major = OPERATORS[kind], isinstance(bound, int)
    if is_major and not MAJOR.search(text):
        return None
    held = {compare(today.major if is_major else today, bound) for today in _today()}
    return held.pop() if len(held) == 1 else None


def _bound(node: ast.expr) -> Version | int | None:
    """The version that one side of a comparison writes out: `"5.0"`, `version.parse("5.0")`, a number."""
    if isinstance(node, ast.Call) and len(node.args) == 1:
        node = node.args[0]
    if not isinstance(node, ast.Constant):
        return None
    if isinstance(node.value, int):
        return node.value
    try:
        return read_version(str(node.value))
    except ValueError:
        return None
