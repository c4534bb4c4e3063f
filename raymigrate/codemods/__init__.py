"""The codemods, a folder per family of rules; those of Train and Tune are in three.

A rule is a module-level `Rule` in any file of a folder, and what fixes it is a function marked `@codemod(...)`. Both
are found by being there: no list anywhere names them. A folder that has the name of an option runs with that only, and
one of `FOR_RAY_SCRIPTS` in scripts that have to do with Ray, or that go to Ray or accelerate. Of those that should go
there and stay, it only tells.
"""

import pkgutil
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Rule
from raymigrate.base.options import Options
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase

WORD = lazy_regex(rb"\w+")
OPTIONAL = frozenset({"to_ray", "to_accelerate"})  # the folders whose import most runs save
FOR_RAY_SCRIPTS = frozenset({"libraries"})  # what is not Ray's own: other scripts may well run with old versions of it


@dataclass(frozen=True, eq=False)  # compared by what they hold, they would take a tenth of the time of the start
class Codemod:
    """A function that looks at a module, reports findings and plans edits.

    Args:
        apply: The function.
        words: Words of which a file must hold one to concern it.
        phase: When it runs.
        after: Those of its phase that run before it.
        option: The field of `Options` that the user has to set for it; empty where it always runs.
        in_ray_scripts: Whether it leaves scripts alone that have nothing to do with Ray.
    """

    apply: Callable[[Context], None]
    words: tuple[str, ...]
    phase: Phase
    after: tuple["Codemod", ...] = ()
    option: str = ""
    in_ray_scripts: bool = False

    @property
    def place(self) -> tuple[Phase, int]:
        """When it runs; those with the same place may run in any order."""
        return self.phase, 1 + max((item.place[1] for item in self.after), default=0)

    @cached_property
    def folder(self) -> str:
        """Where it lies, which is where its rules are at home."""
        return self.apply.__module__.split(".")[-2]

    def __call__(self, context: Context) -> None:
        """Runs the function, unless its folder leaves such a script alone, or only looks at it."""
        if self.in_ray_scripts and not context.is_ray_script:
            return
        if self.folder not in FOR_RAY_SCRIPTS or context.takes_current_libraries:
            self.apply(context)
        elif context.stays:
            self.apply(context.apart)


def codemod(
    *words: str,
    phase: Phase = Phase.CALLS,
    after: Sequence[Codemod] = (),
    option: str = "",
    in_ray_scripts: bool = False,
) -> Callable[[Callable[[Context], None]], Codemod]:
    """Marks a function as a codemod; see `Codemod` for the arguments."""
    return lambda function: Codemod(function, words, phase, tuple(after), option, in_ray_scripts)


@cache
def _contents(left_out: frozenset[str] = frozenset()) -> tuple[list[Rule], list[Codemod]]:
    """All rules and codemods but those of some folders."""
    rules: dict[str, Rule] = {}
    codemods: dict[Codemod, None] = {}  # in the order in which they are found
    folders = [info.name for info in pkgutil.iter_modules(__path__) if info.ispkg and info.name not in left_out]
    names = [f"{__name__}.{folder}.{module}" for folder in folders for module in _modules_of(folder)]
    for name in sorted(names, key=lambda name: name.rpartition(".")[2]):
        for value in vars(import_module(name)).values():
            if isinstance(value, Rule) and rules.setdefault(value.code, value) is not value:
                raise ValueError(f"two rules have the code {value.code}, one of them in {name}")
            if isinstance(value, Codemod):
                codemods[value] = None
    return sorted(rules.values(), key=lambda rule: rule.code), sorted(codemods, key=lambda item: item.place)


def _modules_of(folder: str) -> list[str]:
    return [info.name for info in pkgutil.iter_modules(import_module(f"{__name__}.{folder}").__path__)]


def all_rules() -> list[Rule]:
    """Every rule, by code."""
    return _contents()[0]


def all_codemods() -> list[Codemod]:
    """Every codemod, in the order in which they run."""
    return _contents()[1]


def codemods_for(options: Options) -> list[Codemod]:
    """The codemods that run with these options, in their order."""
    _, codemods = _contents(frozenset(folder for folder in OPTIONAL if not getattr(options, folder)))
    return [item for item in codemods if not item.option or getattr(options, item.option)]


def words_for(options: Options | None = None) -> frozenset[str]:
    """The words of the codemods that run with these options."""
    return frozenset(word for item in codemods_for(options or Options()) for word in item.words)


def concerns_codemods(data: bytes, options: Options | None = None) -> bool:
    """Whether the bytes of a file hold a word of a codemod that runs with these options."""
    words, patterns = _sought(words_for(options))
    return any(found[0] in words for found in WORD.finditer(data)) or patterns.search(data) is not None


@cache
def _sought(words: frozenset[str]) -> tuple[frozenset[bytes], re.Pattern[bytes]]:
    """Words that are looked up as they are, and a pattern for the others: one for all takes 60 ms to be compiled."""
    encoded = {word.encode() for word in words}
    plain = frozenset(word for word in encoded if WORD.fullmatch(word))
    others = sorted(encoded - plain) or [rb"(?!)"]  # no word: an empty pattern would match any file
    return plain, lazy_regex(rb"(?<!\w)(?:" + b"|".join(others) + rb")(?!\w)")
