"""Which files to look at: a walk that reads each file once and keeps those that hold a needle.

This is the hot path of every run over a clean tree, so it works on raw bytes and plain strings.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

SUFFIX = ".py"
# What ruff and black leave out by default; hidden folders are left out as well.
PRUNED = frozenset({"__pycache__", "__pypackages__", "node_modules", "venv", "site-packages", "buck-out"})
# A Python file this large is data; parsing it would take minutes and gigabytes.
MAX_BYTES = 20_000_000
FILES_WORTH_A_PROCESS = 2_000


class Problem(NamedTuple):
    """A path that could not be looked at, and why: one sentence."""

    path: str
    message: str


class Discovery(NamedTuple):
    """What a walk found.

    Args:
        candidates: Files that hold a needle, as the user would name them, sorted.
        problems: Paths that could not be read.
        scanned: Number of files looked at.
    """

    candidates: list[str]
    problems: list[Problem]
    scanned: int


def discover(paths: Sequence[str], *, needles: Sequence[bytes], exclude: Sequence[str] = (), jobs: int = 0) -> Discovery:
    """Finds the files that hold one of the needles.

    Args:
        paths: Files and folders. A file named here is looked at whatever its name and whatever .gitignore says.
        needles: Byte strings of which a file must hold one.
        exclude: Patterns in .gitignore syntax, relative to each folder named.
        jobs: Number of processes; 0 chooses.
    """
    problems: list[Problem] = []
    files: dict[str, str] = {}  # absolute path -> as named, so that a file reached twice is looked at once
    for path in paths:
        try:
            mode = os.stat(path).st_mode
        except OSError as error:
            problems.append(Problem(path, f"cannot be found or read: {error.strerror}."))
            continue
        if stat.S_ISDIR(mode):
            for found in _walk(path, exclude, problems):
                files.setdefault(os.path.abspath(found), found)
        elif stat.S_ISREG(mode):
            files.setdefault(os.path.abspath(path), path)
        else:
            problems.append(Problem(path, "is neither a file nor a folder."))
    named = list(files.values())
    found, unread = _scan_in_processes(named, tuple(needles), jobs)
    return Discovery(sorted(found), problems + sorted(unread), len(named))


# -- walking -----------------------------------------------------------------------------------------


def _walk(root: str, exclude: Sequence[str], problems: list[Problem]) -> Iterator[str]:
    """Python files below a folder, without hidden, pruned, ignored and excluded ones. Links to folders are not followed."""
    rules = Ignored(root, exclude)
    stack: list[str] = [root]
    while stack:
        folder = stack.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError as error:
            problems.append(Problem(folder, f"cannot be listed: {error.strerror}."))
            continue
        if any(entry.name == ".gitignore" for entry in entries):
            rules.read(folder)
        for entry in entries:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                if name[0] != "." and name not in PRUNED and not rules.cover(entry.path + "/"):
                    stack.append(entry.path)
            elif name.endswith(SUFFIX) and _is_file(entry) and not rules.cover(entry.path):
                path = entry.path
                yield path[2:] if path.startswith("./") else path


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that leads to itself
        return False


class Ignored:
    """What .gitignore files and `--exclude` leave out.

    Args:
        root: The folder that the user named.
        exclude: Patterns relative to it.
    """

    def __init__(self, root: str, exclude: Sequence[str]) -> None:
        self.specs: list[tuple[str, GitIgnoreSpec]] = []  # folder and its patterns, outermost first
        if exclude:
            self._add(root, exclude)
        for folder in _folders_above(root):
            if os.path.isfile(os.path.join(folder, ".gitignore")):
                self.read(folder)

    def _add(self, folder: str, lines: Sequence[str]) -> None:
        from pathspec import GitIgnoreSpec  # noqa: PLC0415 - 10 ms that most runs do not spend

        self.specs.append((os.path.abspath(folder) + os.sep, GitIgnoreSpec.from_lines(lines)))

    def read(self, folder: str) -> None:
        """Takes the .gitignore of a folder into account."""
        try:
            with open(os.path.join(folder, ".gitignore"), encoding="utf-8", errors="replace") as file:
                self._add(folder, file.read().splitlines())
        except OSError:
            return

    def cover(self, path: str) -> bool:
        """Whether a path is left out; folders end with a slash. The innermost file that says something decides."""
        if not self.specs:
            return False
        absolute = os.path.abspath(path) + ("/" if path.endswith("/") else "")
        for folder, spec in reversed(self.specs):
            if absolute.startswith(folder):
                verdict = spec.check_file(absolute[len(folder) :].replace(os.sep, "/")).include
                if verdict is not None:
                    return verdict
        return False


def _folders_above(root: str) -> list[str]:
    """The folders from the top of the git repository down to the parent of `root`; none outside a repository."""
    folder, above = os.path.abspath(root), []
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return []
        folder = parent
        above.append(folder)
    return above[::-1]


# -- reading -----------------------------------------------------------------------------------------


def _scan(paths: Sequence[str], needles: Sequence[bytes]) -> tuple[list[str], list[Problem]]:
    found: list[str] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            descriptor = os.open(path, os.O_RDONLY)
            try:
                size = os.fstat(descriptor).st_size
                data = os.read(descriptor, size + 1)
            finally:
                os.close(descriptor)
        except OSError as error:
            problems.append(Problem(path, f"cannot be read: {error.strerror}."))
            continue
        for needle in needles:
            if needle in data:
                if size > MAX_BYTES:
                    problems.append(Problem(path, f"is larger than {MAX_BYTES // 1_000_000} MB; split it, or --exclude it."))
                else:
                    found.append(path)
                break
    return found, problems


def _scan_in_processes(paths: list[str], needles: tuple[bytes, ...], jobs: int) -> tuple[list[str], list[Problem]]:
    """Scans in a second process where there are many files; the scan is bound by the interpreter, not by the disk."""
    if jobs == 1 or len(paths) < FILES_WORTH_A_PROCESS or not hasattr(os, "fork") or sys.platform == "darwin":
        return _scan(paths, needles)
    half = len(paths) // 2
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _report_and_exit(writing, _scan(paths[half:], needles))
    os.close(writing)
    found, problems = _scan(paths[:half], needles)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    import marshal  # noqa: PLC0415 - built in, and quicker than pickle for plain lists

    more, more_problems = marshal.loads(answer) if answer else _scan(paths[half:], needles)
    return found + more, problems + [Problem(*problem) for problem in more_problems]


def _report_and_exit(pipe: int, result: tuple[list[str], list[Problem]]) -> None:
    import marshal  # noqa: PLC0415

    try:
        with os.fdopen(pipe, "wb") as file:
            file.write(marshal.dumps((result[0], [tuple(problem) for problem in result[1]])))
    finally:
        os._exit(0)
