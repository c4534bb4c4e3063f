"""RM699: names that a star import binds today, over those that the file imports above it.

ray.tune of Ray 2.60 has a RunConfig, CheckpointConfig and FailureConfig of its own, and `from ray.tune import *` brings
them in (ray/tune/__init__.py, `__all__`). Trainers refuse them (docs/semantics/traps.md#t2).
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from raymigrate.base.findings import Rule
from raymigrate.base.words import listed
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.gone.rescan import where_today
from raymigrate.codemods.phases import Phase
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import Binding, import_bindings
from raymigrate.facts.values import last_name, reaching
from raymigrate.knowledge.libraries import LIBRARIES, look_up, names_of

RM699 = Rule(
    "RM699",
    "a name that a star import below binds",
    "Current Ray has classes of one name in several packages, such as RunConfig in ray.train and ray.tune. A star"
    " import brings in those of its package, over what an import above it has bound: a trainer that is given"
    " ray.tune.RunConfig raises.",
    "Write out the names that the file uses, in place of the star import; or put it above the other imports.",
    "https://docs.ray.io/en/latest/tune/api/api.html",
    unproven="star imports are rare; read in ray.tune.__all__ of Ray 2.60",
)
MESSAGE = "Today this brings in {names} of {module}, in place of what is imported above under that name."
TUNER = "Tuner"  # takes the classes of ray.tune
RAY = "ray."
DEEPEST = 3  # configurations within configurations


@codemod(r"import\s+\*", phase=Phase.GONE)
def star_bindings(context: Context) -> None:
    """Reports the star imports that bind names of Ray anew."""
    module = context.module
    stars = module.star_imports if context.takes_current_libraries else ()
    imported = [*_imported(module)] if stars else []
    for star in stars:
        library = module.imported(star, star.names[0]).removesuffix(".*")
        names = sorted({made.name for made in imported if _is_taken(module, star, library, made)})
        if names:
            context.manual(RM699, star, MESSAGE.format(names=listed(names), module=library))


class Imported(NamedTuple):
    """A name that an import binds to something of Ray that is there today."""

    name: str
    statement: ast.stmt
    binding: Binding
    today: str


def _imported(module: Module) -> Iterator[Imported]:
    for statement in module.imports:
        for name, binding in import_bindings(statement):
            qualified = binding.qualified or ""
            today = look_up(where_today(qualified) or qualified).place if qualified.startswith(RAY) else ""
            if today:
                yield Imported(name, statement, binding, today)


def _is_taken(module: Module, star: ast.ImportFrom, library: str, made: Imported) -> bool:
    """Whether a star import binds a name anew that an import above it binds, to another class of today."""
    is_above = module.parent_of[made.statement] is module.parent_of[star]
    if not is_above or module.start(made.statement) >= module.start(star) or library.partition(".")[0] not in LIBRARIES:
        return False
    other = look_up(f"{library}.{made.name}").place if made.name in names_of(library) else ""
    return bool(other) and made.today != other and _is_used(module, made.name, made.binding, star)


def _is_used(module: Module, name: str, above: Binding, star: ast.ImportFrom) -> bool:
    """Whether a name that an import binds is read below a star import, for something else than what a Tuner gets."""
    below = (read for read in module.reads(name) if module.start(read) > module.start(star))
    reads = [read for read in below if any(bound.node is above.node for bound in reaching(module, read))]
    return any(not _goes_to_tuner(module, module.calling(read)) for read in reads)


def _goes_to_tuner(module: Module, made: ast.Call | None, depth: int = DEEPEST) -> bool:
    """Whether Tuners alone are given what a call makes, or the configurations that it is a part of."""
    if made is None or not depth:
        return False
    name = module.name_of(made)
    takers = [module.taking(use) for use in (module.uses_of(name) if name is not None else [made])]
    return bool(takers) and all(taker is not None and _is_for_tuner(module, taker, depth) for taker in takers)


def _is_for_tuner(module: Module, taker: ast.Call, depth: int) -> bool:
    called = last_name(taker.func)
    return called == TUNER or (called.endswith("Config") and _goes_to_tuner(module, taker, depth - 1))
