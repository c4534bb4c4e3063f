"""No regular expression takes exponential time: a long line of a file must not hold up the run.

A repeat is exponential where its body matches a word and the same word twice, as `(#+ ?)+` does with "#" and "##": a
text of n words can then be cut in 2**n ways, all of which are tried before the expression gives up.
"""

import ast
import importlib
import pickle
import pkgutil
import re
from collections.abc import Iterator
from itertools import chain, product
from pathlib import Path
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

import raymigrate
from raymigrate.base.expressions import Expression, lazy_regex

ROOT = Path(raymigrate.__file__).parent
INJECTED = "raymigrate.runtime.inject."  # imported by the jobs that verify runs, and by nothing here
CHARACTERS = set(" \t\naA0_")  # and those that an expression names
REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT)


def written() -> Iterator[str]:
    """The expressions that are given to a function of `re` as they are."""
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if (
                isinstance(node, ast.Call)
                and node.args
                and ast.unparse(node.func).startswith(("re.", "codemod", "lazy_regex"))
            ):
                if isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
                    yield node.args[0].value


def compiled() -> Iterator[str]:
    """The expressions that modules hold, which may be put together from parts."""
    for module in pkgutil.walk_packages([str(ROOT)], "raymigrate."):
        if not module.name.startswith(INJECTED) and not module.name.endswith("__main__"):
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, (re.Pattern, Expression)) and isinstance(value.pattern, str):
                    yield value.pattern


def bodies(parsed: Any) -> Iterator[Any]:
    """The bodies of all repeats without a small limit, of a parsed expression."""
    for operation, argument in parsed:
        if operation in REPEATS and argument[1] > 10:
            yield argument[2]
        for part in argument if isinstance(argument, tuple | list) else ():
            for inner in part if isinstance(part, list) else [part]:
                if isinstance(inner, _parser.SubPattern):
                    yield from bodies(inner)


def is_exponential(expression: str) -> bool:
    """Whether the body of a repeat matches a word of one or two characters, and the same word twice."""
    characters = sorted(CHARACTERS | set(expression))
    words = ["".join(parts) for parts in chain(product(characters), product(characters, repeat=2))]
    for body in bodies(_parser.parse(expression)):
        whole = _compiler.compile(body)
        if any(whole.fullmatch(word) and whole.fullmatch(2 * word) for word in words):
            return True
    return False


@pytest.mark.parametrize("expression", ["(?:#+[ \t]*)+(?=!)", r"(?:\.?\w+)*", "(a|a+)*b", "x(?:(?:ab)+)*"])
def test_exponential_expressions_are_found(expression: str) -> None:
    assert is_exponential(expression)


@pytest.mark.parametrize("expression", ["#[# \t]*(?=!)", r"\w*(?:\.\w+)*", "(a|b)*", r"(?:[^\\]|\\.)*", "(?:x+)?"])
def test_linear_ones_are_not(expression: str) -> None:
    assert not is_exponential(expression)


def test_no_expression_of_the_package_is_exponential() -> None:
    expressions = {*written(), *compiled()}
    assert len(expressions) > 250
    assert [expression for expression in sorted(expressions) if is_exponential(expression)] == []


def test_an_expression_is_compiled_when_it_is_used_and_then_is_what_it_stands_for() -> None:
    for held in (lazy_regex("a(B)", re.IGNORECASE), lazy_regex(rb"a(b)")):
        assert vars(held).keys() == {"pattern", "_flags"}
        text = b"xab" if isinstance(held.pattern, bytes) else "xab"
        assert held.findall(text) == [text[2:]]  # type: ignore[arg-type]
        assert pickle.loads(pickle.dumps(held)).findall(text) == [text[2:]]
        assert held.search.__self__ is held.match.__self__  # type: ignore[attr-defined]
    assert lazy_regex("a").flags == re.compile("a").flags
    with pytest.raises(AttributeError):
        lazy_regex("a").replace  # noqa: B018


def test_no_module_of_a_conversion_compiles_an_expression_where_it_is_imported() -> None:
    for path in ROOT.rglob("*.py"):
        if "runtime" not in path.relative_to(ROOT).parts:
            calls = (node.value for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.Assign))
            assert [ast.unparse(call) for call in calls if ast.unparse(call).startswith("re.compile")] == [], path
