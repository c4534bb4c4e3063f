"""Conditions on the version of transformers: which branch runs with that of today."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_negation
from raymigrate.facts.syntax.optional_imports import OPERATORS, TURNED
from raymigrate.facts.values.arguments import all_arguments
from raymigrate.knowledge.versions import LOWEST, read_version

if TYPE_CHECKING:
    from packaging.version import Version

OF_VERSION = lazy_regex(r"version|__ver__", re.IGNORECASE)
OF_MAJOR = lazy_regex(r"_?(?:(?:IS|is|HF|hf)_)*[Vv][45]")  # names that say it: `_V5`, `is_v5`
OURS = "transformers"
VERSION = f"{OURS}.__version__"
NAMED = r"(?<!sentence_)transformers"  # in names; the other library has versions of its own
BOTH = lazy_regex(rf"\w*{NAMED}\w*(?:version|_ver\b)\w*", re.IGNORECASE)  # in one name: `is_transformers_version`
BARE = lazy_regex(r"_*ver(?:sion\w*)?_*", re.IGNORECASE)  # what has the version of an object: `__version__`
REQUIRED = lazy_regex(r"transformers *(?:[<>=!~].*)?")  # a text that names the package: `version("transformers")`
MAJOR = lazy_regex(r"\.split\(|\.major|int\(")


def is_for_others(module: Module, test: ast.expr, *, of_else: bool) -> bool:
    """Whether a branch is for other versions of transformers than today's, or it is not seen for which it is.

    Args:
        module: The module.
        test: The condition.
        of_else: Whether the branch runs where it does not hold.
    """
    if is_negation(test):
        return is_for_others(module, test.operand, of_else=not of_else)
    if not tells_versions(module, test):
        return False
    holds = _holds_today(module.followed(test)[1], text_of(module, test))
    return holds is None or holds is of_else


def tells_versions(module: Module, test: ast.expr) -> bool:
    """Whether a condition is about the version of transformers, as it is written or by what its names stand for."""
    parts = [(home, part) for home, node in _expressions(module, test) for part in ast.walk(node)]
    named = (word for _, part in parts for word in _spelled(part))
    return any(OF_MAJOR.fullmatch(word) for word in named) or any(_is_version(*part) for part in parts)


def spelled_in(node: ast.expr) -> str:
    """The names in an expression, without its texts: what is in them belongs to others, `open("phi-v4.yaml")`."""
    return " ".join(word for part in ast.walk(node) for word in _spelled(part))


def text_of(module: Module, test: ast.expr) -> str:
    """A condition as it is written, with what its names stand for, in other files too."""
    return " ".join(ast.unparse(node) for _, node in _expressions(module, test))


def _expressions(module: Module, test: ast.expr) -> Iterator[tuple[Module, ast.expr]]:
    """A condition, what it stands for, and what the names in that stand for, each with its module."""
    home, condition = module.followed(test)
    yield from ((module, test), (home, condition))
    parts = (part for part in ast.walk(condition) if isinstance(part, (ast.Name, ast.Attribute)))
    yield from (home.followed(part) for part in parts)


def _spelled(node: ast.AST) -> Iterator[str]:
    """The names that a node itself spells; of a call with its bracket: `signature(`."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.keyword) and node.arg is not None:
        yield node.arg
    elif isinstance(node, ast.Call):
        yield ast.unparse(node.func).rpartition(".")[2] + "("


def _is_version(module: Module, node: ast.AST) -> bool:
    """Whether a part of a condition is the version of transformers, or asks for it: `version("transformers")`."""
    if isinstance(node, (ast.Name, ast.Attribute)):
        last = node.id if isinstance(node, ast.Name) else node.attr
        if module.qualified(node) == VERSION or BOTH.fullmatch(last):
            return True
        return isinstance(node, ast.Attribute) and BARE.fullmatch(last) is not None and _is_package(node.value)
    if isinstance(node, ast.Call):
        asked = [module.naming(node.func), *(k.arg or "" for k in node.keywords)]
        asks = any(OF_VERSION.search(name.rpartition(".")[2]) for name in asked)
        given = all_arguments(node)
        return (asks and any(map(_is_ours, given))) or any(map(_is_key, given))
    if isinstance(node, ast.Subscript):
        return _is_key(node.slice) or (_is_ours(node.slice) and OF_VERSION.search(spelled_in(node.value)) is not None)
    return False


def _is_key(node: ast.expr) -> bool:
    """Whether a value is looked up by a text that says both: `os.environ["TRANSFORMERS_VERSION"]`."""
    return isinstance(node, ast.Constant) and BOTH.fullmatch(str(node.value)) is not None


def _is_package(node: ast.expr) -> bool:
    """Whether a value is the package, or what is told of it: `transformers`, `get_distribution("transformers")`."""
    return (
        any(map(_is_ours, node.args)) if isinstance(node, ast.Call) else re.search(NAMED, ast.unparse(node)) is not None
    )


def _is_ours(node: ast.expr) -> bool:
    """Whether an expression has transformers in it, as a module or by its name."""
    return any(
        (isinstance(part, ast.Constant) and isinstance(part.value, str) and REQUIRED.fullmatch(part.value) is not None)
        or (isinstance(part, ast.Name) and re.search(NAMED, part.id.lower()) is not None)
        for part in ast.walk(node)
    )


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
