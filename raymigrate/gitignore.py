# ruff: noqa: PTH113, PTH118 - works on strings, as discovery.py does
"""Which paths the patterns of .gitignore files and of --exclude leave out."""

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from raymigrate.files import read_bytes

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


class Patterns(NamedTuple):
    """The patterns of one .gitignore, or those of --exclude.

    Args:
        spec: The compiled patterns.
        skip: Length of the directory that they are relative to: so much of a walked path is cut off.
        above: What to put in front of the rest instead, where that directory lies above the one walked.
    """

    spec: "GitIgnoreSpec"
    skip: int
    above: str = ""


def is_ignored(layers: Sequence[Patterns], path: str) -> bool:
    """Whether patterns leave a path out.

    Args:
        layers: The strongest first: as in git, the first that says anything about the path decides.
        path: The path as it was walked; that of a directory ends with a slash.
    """
    for spec, skip, above in layers:
        verdict = spec.check_file(above + path[skip:]).include
        if verdict is not None:
            return verdict
    return False


def excluded(globs: Sequence[str], root: str) -> Patterns:
    """The patterns of --exclude, relative to the walked directory `root` ("" or ending with a slash).

    Raises:
        ValueError: If one of them is not a valid pattern.
    """
    return Patterns(_compiled(globs), len(root))


def read_gitignore(directory: str, skip: int, above: str = "") -> Patterns:
    """The patterns of the .gitignore in a directory; see `Patterns`. Like git it passes over lines that are none.

    Args:
        directory: "" or ending with a slash.
        skip: As in `Patterns`.
        above: As in `Patterns`.

    Raises:
        OSError: If the file cannot be read.
    """
    text = read_bytes(directory + ".gitignore").decode("utf-8-sig", "surrogateescape")
    lines = text.replace("\r\n", "\n").split("\n")
    try:
        spec = _compiled(lines)
    except ValueError:
        spec = _compiled(filter(_is_pattern, lines))
    return Patterns(spec, skip, above)


def read_gitignores_above(root: str) -> list[Patterns]:
    """The .gitignore files above a directory that hold for it: those up to the root of its git repository.

    None of them does if they ignore the directory itself: whoever names it means it.

    Args:
        root: The directory to be walked, "" or ending with a slash.

    Raises:
        OSError: If one of them cannot be read.
    """
    directory = os.path.realpath(root or ".")
    layers: list[Patterns] = []
    relative = ""
    while not os.path.lexists(os.path.join(directory, ".git")):
        directory, name = os.path.split(directory)
        if not name:
            return []  # the root of the file system: this is not a git repository
        relative = f"{name}/{relative}"
        if os.path.isfile(os.path.join(directory, ".gitignore")):
            layers.append(read_gitignore(os.path.join(directory, ""), len(root), relative))
    return [] if is_ignored(layers, root) else layers


def _compiled(lines: Iterable[str]) -> "GitIgnoreSpec":
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - takes 20 ms, and many runs meet no pattern

    return GitIgnoreSpec.from_lines(lines)


def _is_pattern(line: str) -> bool:
    try:
        _compiled([line])
    except ValueError:
        return False
    return True
