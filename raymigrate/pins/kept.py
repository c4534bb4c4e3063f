"""Packages that pip leaves in a Databricks runtime as they are, since no command asks for newer ones.

The runtimes for machine learning bring Ray, transformers, accelerate and datasets along, as old as they are themselves;
in an empty environment the same commands install the newest.
"""

import re
from collections.abc import Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.documents.install_commands import WORD, commands
from raymigrate.knowledge.versions import (
    EXTRAS,
    LOWEST,
    NAME,
    REQUIREMENT,
    keeps_out,
    package,
    read_specifier,
    read_version,
)

ON_DATABRICKS = lazy_regex(r"^# MAGIC |\bdbutils\.|/dbfs/|\bdbfs:/", re.MULTILINE)
HELD = ("ray", "transformers", "accelerate", "datasets")
UPGRADES = lazy_regex(r"(?:^|\s)(?:-[A-Za-z]*U[A-Za-z]*|--upgrade|--force-reinstall)(?=\s|$)")
FROM_BELOW = (">=", ">", "~=", "==", "===")
ALONE = lazy_regex(rf"{NAME}{EXTRAS}")


def kept(text: str) -> Iterator[tuple[int, list[str]]]:
    """The packages that the install commands of a text may leave older than converted code needs, with their places.

    Args:
        text: The text.
    """
    for command in commands(text):
        names = [name for name, is_kept in _packages(command) if is_kept]
        if names:
            yield command.start(), list(dict.fromkeys(names))


def raised(text: str) -> set[str]:
    """The packages of which a command of a text asks for newer versions."""
    return {name for command in commands(text) for name, is_kept in _packages(command) if not is_kept}


def _packages(command: re.Match[str]) -> Iterator[tuple[str, bool]]:
    """The packages that a command names, each with whether an old version of it will do."""
    anew = command[0].startswith(("conda", "mamba")) or UPGRADES.search(command["words"]) is not None
    for word in WORD.finditer(command["words"]):
        name, takes_old = _package(word)
        if name:
            yield name, takes_old and not anew


def _package(word: re.Match[str]) -> tuple[str, bool]:
    """The package that a word of a command names, if a runtime brings it, and whether the word takes an old one."""
    said = (word["quoted"] if word["quoted"] is not None else word["plain"]).strip()
    ranged = REQUIREMENT.fullmatch(said)
    named = ranged or ALONE.fullmatch(said)
    name = package(named["name"]) if named is not None else ""
    if name not in HELD:
        return "", False
    return name, ranged is None or _lets_old_in(ranged["specifier"], LOWEST[name])


def _lets_old_in(specifier: str, lowest: str) -> bool:
    """Whether a range allows older versions than the lowest that is needed, and newer ones: else it is RM731's."""
    try:
        clauses = [clause for clause in read_specifier(specifier) if clause.operator in FROM_BELOW]
        bounds = [read_version(clause.version.removesuffix(".*")) for clause in clauses]
        return not keeps_out(specifier, lowest) and all(bound < read_version(lowest) for bound in bounds)
    except ValueError:  # no range
        return False


def message(names: list[str]) -> str:
    """What comes of such packages."""
    *others, last = names
    joined = f"{', '.join(others)} and {last}" if others else last
    needed = ", ".join(f"{name}>={LOWEST[name]}" for name in names)
    return (
        f"pip leaves {joined} as a Databricks runtime brings {'them' if others else 'it'}, where that does for what is"
        f" asked for here. Once it is converted, the code needs {needed}: write that, or --upgrade."
    )
