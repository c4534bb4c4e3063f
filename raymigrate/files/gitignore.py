# ruff: noqa: PTH113, PTH118 - works on strings, as discovery.py does
"""Which paths the patterns of .gitignore files and of --exclude leave out.

The rules are those of `git help gitignore`; a test compares them with git. (The package pathspec takes 20 ms to import,
and lets `!src` bring back an ignored `src/build`, which git does not.)
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import count
from typing import NamedTuple

from raymigrate.base.expressions import lazy_regex
from raymigrate.files.contents import read_bytes

# The parts of a glob: an escaped character, stars, a question mark, a set like [!a-z], any other character.
TOKEN = lazy_regex(
    r"\\(?P<escaped>.)|(?P<stars>\*+)|(?P<any>\?)|\[(?P<set>[!^]?\]?(?:\\.|[^]\\])*)\]|(?P<plain>.)", re.S
)
IN_SET = lazy_regex(r"\\?(.)(?:-\\?(.))?", re.S)


class Rule(NamedTuple):
    """One line of patterns.

    Args:
        ignores: False for a line that begins with `!`.
        directories_only: Whether it ends with a slash.
        whole_path: Whether `matches` takes the path; otherwise only the last part of it.
        matches: Tells whether the pattern fits.
    """

    ignores: bool
    directories_only: bool
    whole_path: bool
    matches: Callable[[str], object]


class Patterns(NamedTuple):
    """The patterns of one .gitignore, or those of --exclude.

    Args:
        rules: The last line first, as it is the strongest.
        skip: Length of the directory that they are relative to: so much of a walked path is cut off.
        above: What to put in front of the rest instead, where that directory lies above the one walked.
    """

    rules: Sequence[Rule]
    skip: int
    above: str = ""

    def verdict(self, path: str) -> bool | None:
        """Whether to leave out a path relative to the patterns; None if they say nothing about it."""
        is_directory = path.endswith("/")
        whole = path.removesuffix("/")
        name = whole[whole.rfind("/") + 1 :]
        for ignores, directories_only, whole_path, matches in self.rules:
            if (is_directory or not directories_only) and matches(whole if whole_path else name):
                return ignores
        return None


def is_ignored(layers: Sequence[Patterns], path: str) -> bool:
    """Whether patterns leave a path out, which they do not because of a directory above it: that is never walked.

    Args:
        layers: The strongest first: as in git, the first that says anything about the path decides.
        path: The path as it was walked; that of a directory ends with a slash.
    """
    for patterns in layers:
        verdict = patterns.verdict(patterns.above + path[patterns.skip :])
        if verdict is not None:
            return verdict
    return False


def excluded(globs: Sequence[str], root: str, above: str = "") -> Patterns:
    """The patterns of --exclude; relative to the walked directory `root` ("" or ending with a slash).

    Args:
        globs: The patterns.
        root: The walked directory.
        above: The way to it from the folder that the patterns are relative to, if that is another one.
    """
    return Patterns(_rules(globs), len(root), above)


def is_excluded(globs: Sequence[str], path: str) -> bool:
    """Whether patterns leave out a path that is relative to their folder, or a directory above it."""
    patterns = excluded(globs, "")
    prefixes = [path[: slash.end()] for slash in re.finditer("/", path)]
    return any(patterns.verdict(prefix) for prefix in [*prefixes, path])


def read_gitignore(directory: str, skip: int, above: str = "") -> Patterns:
    """The patterns of the .gitignore in a directory ("" or ending with a slash); for the rest see `Patterns`.

    Raises:
        OSError: If the file cannot be read.
    """
    text = read_bytes(directory + ".gitignore").decode("utf-8-sig", "surrogateescape")
    return Patterns(_rules_in(text), skip, above)


def read_gitignores_above(root: str) -> list[Patterns]:
    """The .gitignore files above a directory that hold for it: those up to the root of its git repository.

    None of them does if they ignore the directory itself, or one around it: a user who names it means it.

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
    ignored = any(
        patterns.verdict(patterns.above[: slash.end()])
        for patterns in layers
        for slash in re.finditer("/", patterns.above)
    )
    return [] if ignored else layers


@lru_cache(maxsize=64)
def _rules_in(text: str) -> list[Rule]:
    """The rules of a .gitignore, which is read again by each walk."""
    return _rules(text.replace("\r\n", "\n").split("\n"))


def _rules(lines: Iterable[str]) -> list[Rule]:
    rules = [rule for line in lines if line and not line.startswith("#") and (rule := _rule(line))]
    return rules[::-1]


def _rule(line: str) -> Rule | None:
    """The rule of a line; None for one that no path fits."""
    while line.endswith(" ") and not line.endswith("\\ "):
        line = line[:-1]
    glob = line.removeprefix("!")
    plain = glob.removesuffix("/")
    whole_path = "/" in plain
    plain = plain.removeprefix("/")
    if not re.search(r"[*?\[\\]", plain):
        matches: Callable[[str], object] = plain.__eq__  # most patterns are plain names; an expression takes 0.2 ms
    elif expression := _expression(plain):
        matches = expression.fullmatch
    else:
        return None
    return Rule(not line.startswith("!"), glob.endswith("/"), whole_path, matches)


def _expression(glob: str) -> re.Pattern[str] | None:
    """The expression of a glob, which takes no longer than to look for what stands between the stars, one by one.

    What comes first between two stars can be taken where it is found first: that leaves the most to what follows. The
    same holds for what stands between two `**/`. So no match is given up again, as `fnmatch` of Python has it.
    """
    numbers = count()
    *front, end = re.split(r"(?:^|(?<=/))\*\*(?:/|$)", glob)
    parts = [_folders(part, numbers) for part in front]
    expression = "".join([*parts[:1], *(_first_match(f"(?:[^/]*/)*?{part}", numbers) for part in parts[1:])])
    if front and not end and glob.endswith("**"):
        expression += ".+"
    else:
        expression += ("(?:[^/]*/)*?" if front else "") + _folders(end, numbers)
    try:
        return re.compile(expression, re.S)
    except re.error:  # such as a set that runs backwards
        return None


def _first_match(expression: str, numbers: Iterator[int]) -> str:
    """An expression of which only the first match counts, whatever follows (`(?>...)` from Python 3.11 on)."""
    name = f"g{next(numbers)}"
    return f"(?=(?P<{name}>{expression}))(?P={name})"


def _folders(glob: str, numbers: Iterator[int]) -> str:
    """The expression of a glob without `**/`: names of folders, and of a file at the end."""
    names = [[""]]  # for each, what stands between its stars
    for token in TOKEN.finditer(glob):
        if token["stars"]:
            names[-1].append("")
        elif "/" in (token["plain"], token["escaped"]):
            names.append([""])
        else:
            names[-1][-1] += _token_expression(token)
    return "/".join(_name(*between, numbers=numbers) for between in names)


def _name(start: str, *between: str, numbers: Iterator[int]) -> str:
    """The expression of one name, from what stands between its stars."""
    if not between:
        return start
    *middle, end = between
    return start + "".join(_first_match(f"[^/]*?{part}", numbers) for part in middle) + f"[^/]*{end}"


def _token_expression(token: re.Match[str]) -> str:
    if token["any"]:
        return "[^/]"
    if token["set"] is not None:
        return _set_expression(token["set"])
    if token["plain"] and token["plain"] in "[\\":
        return "(?!)"  # a set without an end, or nothing to escape: git lets it match nothing
    return re.escape(token["escaped"] or token["plain"])


def _set_expression(content: str) -> str:
    """A set like `!a-z`. The named classes of POSIX (`[:alpha:]`) are not known and match nothing."""
    if "[:" in content:
        return "(?!)"
    negated = content[0] in "!^"
    ranges = "".join(
        re.escape(first) + (f"-{re.escape(last)}" if last else "")
        for first, last in IN_SET.findall(content[1:] if negated else content)
    )
    return f"(?!/)[{'^' if negated else ''}{ranges}]"
