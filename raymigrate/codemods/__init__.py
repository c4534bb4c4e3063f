"""The codemods, one file per family of rules.

A rule is a module-level `Rule` in any file here, and what fixes it is a function marked `@codemod(...)`. Both are found
by being there: no list anywhere names them.
"""

import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from raymigrate.context import Context
from raymigrate.findings import Rule


@dataclass(frozen=True)
class Codemod:
    """A function that looks at a module, reports findings and plans edits.

    Args:
        apply: The function.
        words: Words of which a file must hold one to concern it.
        order: Codemods with a lower number run first.
    """

    apply: Callable[[Context], None]
    words: tuple[str, ...]
    order: int

    def __call__(self, context: Context) -> None:
        """Runs the function."""
        self.apply(context)


def codemod(*words: str, order: int = 50) -> Callable[[Callable[[Context], None]], Codemod]:
    """Marks a function as a codemod; see `Codemod` for the arguments."""
    return lambda function: Codemod(function, words, order)


@cache
def _contents() -> tuple[list[Rule], list[Codemod]]:
    rules: dict[str, Rule] = {}
    codemods: list[Codemod] = []
    for info in pkgutil.iter_modules(__path__):
        for value in vars(import_module(f"{__name__}.{info.name}")).values():
            if isinstance(value, Rule) and rules.setdefault(value.code, value) is not value:
                raise ValueError(f"two rules have the code {value.code}")
            if isinstance(value, Codemod) and value not in codemods:
                codemods.append(value)
    return sorted(rules.values(), key=lambda rule: rule.code), sorted(codemods, key=lambda item: item.order)


def all_rules() -> list[Rule]:
    """Every rule, by code."""
    return _contents()[0]


def all_codemods() -> list[Codemod]:
    """Every codemod, in the order in which they run."""
    return _contents()[1]


@cache
def word_pattern() -> re.Pattern[bytes]:
    """Matches the bytes of every file that a codemod could concern."""
    words = sorted({word for item in all_codemods() for word in item.words})
    return re.compile(rb"\b(?:" + "|".join(words).encode() + rb")\b")
