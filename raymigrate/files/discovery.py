# ruff: noqa: PTH113, PTH114, PTH115, PTH116, PTH118 - a Path object per file would cost more than reading the file
"""Finds the files worth a closer look: those that hold one of a few words.

Left out without a message, as ruff and ripgrep do: what .gitignore and --exclude name, hidden files and directories,
directories that hold no source of the project (`SKIPPED`, virtual environments), and links to directories, whose files
lie elsewhere. A path named on the command line is never left out.
"""

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise

from raymigrate.base.collecting import no_search_for_cycles
from raymigrate.files.contents import is_left_over
from raymigrate.files.gitignore import (
    Patterns,
    excluded,
    is_excluded,
    is_ignored,
    read_gitignore,
    read_gitignores_above,
)
from raymigrate.files.scanner import Search, Words

# Ruff's default excludes, less the hidden ones.
SKIPPED = frozenset(
    {"__pycache__", "__pypackages__", "_build", "buck-out", "build", "dist", "node_modules", "site-packages", "venv"}
)
SUFFIXES = (".py", ".ipynb")
CONFIGURATION = (".yaml", ".yml")
PAGES = (".md", ".markdown", ".rst")
# Nobody wrote such a file by hand, and to parse it would take minutes and gigabytes of memory.
MAX_BYTES = 2_000_000  # to parse it takes some 300 bytes of memory for each
MAX_NOTEBOOK_BYTES = 100_000_000  # pictures among the outputs: seven bytes of memory for each
KINDS = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}

KILLED = (
    "is left of a run that was killed while it wrote, so of the files that change together some may be converted and"
    " some not; take them back from version control, remove this file, and run raymigrate again."
)


@dataclass(frozen=True)
class Problem:
    """A path that could not be looked at.

    Args:
        path: As the user wrote it, or as it was found.
        message: What is wrong and what to do, in one sentence.
    """

    path: str
    message: str


@dataclass
class Discovery:
    """What there is to do.

    Args:
        candidates: Files that hold a needle, sorted, each file once.
        problems: What could not be looked at, sorted.
        scanned: How many files were searched.
        roots: The directories that were named, each "" or ending with a slash.
        named: The files that were named.
        exclude: The patterns of --exclude.
        exclude_base: The folder that they are relative to instead of each walked directory.
    """

    candidates: list[str]
    problems: list[Problem]
    scanned: int
    roots: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    exclude_base: str = ""
    _layers: dict[str, list[Patterns]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def named_lists(self) -> tuple[str, ...]:
        """The files that were named and that may pin versions: those that are not scripts, and setup.py."""
        return tuple(path for path in self.named if not path.endswith(SUFFIXES) or path.endswith("setup.py"))

    @cached_property
    def _real(self) -> tuple[frozenset[str], tuple[str, ...]]:
        """Where the named files and folders really are."""
        folders = tuple(os.path.join(os.path.realpath(root or "."), "") for root in self.roots)
        return frozenset(map(os.path.realpath, self.named)), folders

    def leads_out(self, path: str) -> bool:
        """Whether a file is a link, or lies behind one, that leads out of the paths that were named."""
        files, folders = self._real
        real = os.path.realpath(path)
        return real not in files and not real.startswith(folders)

    @cached_property
    def _given(self) -> frozenset[str]:
        return frozenset(map(os.path.normpath, (*self.named, *self.candidates)))

    def covers(self, path: str) -> bool:
        """Whether a file is among those that were named: itself, or below a folder and not left out there."""
        path = os.path.normpath(path)
        if self.leads_out(path):
            return False
        return path in self._given or any(self._has_below(root, path) for root in self.roots)

    def _has_below(self, root: str, path: str) -> bool:
        inside = below(path, root)
        *folders, name = inside.split("/")
        if not inside or any(folder in SKIPPED or folder.startswith(".") for folder in folders):  # "..", too
            return False
        places = [*accumulate([root, *(f"{folder}/" for folder in folders), name])]
        for folder in places[:-1]:
            if folder not in self._layers:
                self._layers[folder] = layers_of(folder, self)
        return not any(is_ignored(self._layers[folder], place) for folder, place in pairwise(places))


def discover(
    paths: Sequence[str],
    *,
    needles: Sequence[bytes],
    exclude: Sequence[str] = (),
    exclude_base: str = "",
    force_exclude: bool = False,
    suffixes: Iterable[str] = frozenset({".py"}),
    jobs: int = 0,
) -> Discovery:
    """Finds the files that hold a needle.

    Args:
        paths: Files, and directories to walk. A relative path gives relative candidates; a leading `./` is dropped.
        needles: The words to look for; quick if all of them share a substring (see `scanner.Words`).
        exclude: Patterns in the syntax of .gitignore, relative to each walked directory.
        exclude_base: The folder that they are relative to instead, with everything to be walked below it.
        force_exclude: Whether they also leave out files that are named.
        suffixes: Ends of the names of the files to look at in directories; a file that is named may have any.
        jobs: How many processes may search; 0 for one per processor.

    Returns:
        Candidates and problems; a bad path never stops the others.
    """
    # The walk makes thousands of strings that all stay.
    with no_search_for_cycles(), Search(Words(needles), jobs or processors()) as search:
        walk = _Walk(tuple(suffixes), exclude, exclude_base, search.add, force_exclude=force_exclude)
        for path in paths:
            walk.start(path)
        hits, failures = search.result()
    hits = [path for path in hits if not walk.is_ignored(path)]
    failures = [(path, number) for path, number in failures if not walk.is_ignored(path)]
    # Where several names lead to one file, the one that was named stands for it, or else one that is not a link.
    hits.sort(key=lambda path: (path not in walk.named, os.path.islink(path), path))
    candidates, too_large = _each_file_once(hits)
    # Another run that writes at this moment takes its own away by now.
    killed = (Problem(path, KILLED) for path in walk.left_over if os.path.lexists(path))
    problems = {*walk.problems, *killed, *too_large, *(_unreadable(path, number) for path, number in failures)}
    problems_by_path = sorted(problems, key=lambda problem: problem.path)
    named = tuple(sorted(walk.named))
    roots = tuple(walk.roots)
    return Discovery(sorted(candidates), problems_by_path, len(walk.files), roots, named, tuple(exclude), exclude_base)


def files_below(
    found: Discovery, is_wanted: Callable[[str], bool], hidden: frozenset[str] = frozenset()
) -> Iterator[str]:
    """Walks the named directories once more, for files of other kinds, and leaves out the same.

    Args:
        found: What the search for scripts found.
        is_wanted: Tells by its path whether a file is of such a kind.
        hidden: The names of hidden files and directories that are not left out.
    """
    wanted: list[str] = []
    take = lambda paths: wanted.extend(filter(is_wanted, paths))  # noqa: E731 - typed by its use
    walk = _Walk(("",), found.exclude, found.exclude_base, take, hidden=hidden)
    for root in found.roots:
        walk.start(root or ".")
    return (path for path in wanted if not walk.is_ignored(path))


def layers_of(folder: str, found: Discovery) -> list[Patterns]:
    """The patterns that hold in a folder, the strongest first; those around a repository do not hold inside it."""
    root = next(root for root in found.roots if folder.startswith(root))
    own: list[Patterns] = []
    try:
        above = read_gitignores_above(root)
        for slash in [len(root), *(match.end() for match in re.finditer("/", folder) if match.end() > len(root))]:
            if os.path.lexists(f"{folder[:slash]}.git"):
                own, above = [], []
            if os.path.isfile(f"{folder[:slash]}.gitignore"):
                own.insert(0, read_gitignore(folder[:slash], slash))
    except OSError:
        above = []
    return [*([excluded(found.exclude, root)] if found.exclude else []), *own, *above]


class _Walk:
    """Looks for files and hands them on: those that are named, and those found in directories.

    Patterns are slow beside the rest. So they are asked about directories here, and about files only once one is known
    to hold a needle.
    """

    def __init__(
        self,
        suffixes: tuple[str, ...],
        exclude: Sequence[str],
        base: str,
        take: Callable[[Sequence[str]], object],
        *,
        force_exclude: bool = False,
        hidden: frozenset[str] = frozenset(),
    ) -> None:
        self._suffixes = suffixes
        self._exclude = exclude
        self._strongest = 1 if exclude else 0  # how many layers beat every .gitignore
        self._base = base
        self._force_exclude = force_exclude
        self._take = take
        self._hidden = hidden
        self._layers: dict[str, tuple[Patterns, ...]] = {}  # by directory, where there are any
        self.files: set[str] = set()
        self.named: set[str] = set()
        self.roots: list[str] = []
        self.problems: list[Problem] = []
        self.left_over: list[str] = []

    def start(self, path: str) -> None:
        """Takes a path of the command line."""
        try:
            mode = os.stat(path).st_mode
        except OSError as error:
            self.problems.append(_unreachable(path, error))
            return
        plain = path
        while plain.startswith("./"):
            plain = plain[2:].lstrip("/")
        if stat.S_ISDIR(mode):
            self.roots.append("" if plain in {"", "."} else os.path.join(plain, ""))
            self._walk(self.roots[-1])
        elif stat.S_ISREG(mode):
            if not (self._force_exclude and is_excluded(self._exclude, below(plain, self._base))):
                self.named.add(plain)
                self._add([plain])
        else:
            self.problems.append(_not_a_file(path, mode))

    def is_ignored(self, path: str) -> bool:
        """Whether patterns leave a file out."""
        return path not in self.named and is_ignored(self._layers.get(path[: path.rfind("/") + 1], ()), path)

    def _add(self, files: list[str]) -> None:
        new = [path for path in files if path not in self.files]
        self.files.update(new)
        self._take(new)

    def _walk(self, root: str) -> None:
        stack = [(root, self._layers_of_root(root))]
        while stack:
            directory, layers = stack.pop()
            try:
                with os.scandir(directory or ".") as entries:
                    files, subdirectories, markers = self._sort(directory, entries)
            except OSError as error:
                self.problems.append(_unreadable(directory or ".", error.errno))
                continue
            if "pyvenv.cfg" in markers and directory != root:
                continue  # a virtual environment under an unusual name
            if ".git" in markers:
                layers = layers[: self._strongest]  # a repository of its own: patterns around it do not hold inside
            if ".gitignore" in markers:
                layers = self._with_gitignore(directory, layers)
            self._add(files)
            if layers:
                self._layers[directory] = layers
                subdirectories = [path for path in subdirectories if not is_ignored(layers, path)]
            stack += [(path, layers) for path in subdirectories]

    def _sort(self, directory: str, entries: Iterable[os.DirEntry[str]]) -> tuple[list[str], list[str], list[str]]:
        """Sorts what a directory holds into files, subdirectories, and files that say something about the directory."""
        files: list[str] = []
        subdirectories: list[str] = []
        markers: list[str] = []
        suffixes = self._suffixes
        for entry in entries:
            name = entry.name
            if (name.startswith(".") and name not in self._hidden) or name == "pyvenv.cfg":
                if name == ".git" or (name in {".gitignore", "pyvenv.cfg"} and entry.is_file()):
                    markers.append(name)
                elif is_left_over(name):
                    self.left_over.append(directory + name)
            elif entry.is_dir(follow_symlinks=False):
                if name not in SKIPPED:
                    subdirectories.append(f"{directory}{name}/")
            elif name.endswith(suffixes):
                path = directory + name
                if entry.is_file(follow_symlinks=False):
                    files.append(path)
                elif not entry.is_symlink():
                    self.problems.append(_not_a_file(path, entry.stat(follow_symlinks=False).st_mode))
                elif os.path.isfile(path):  # the link might lead to a directory, nowhere, or back to itself
                    files.append(path)
        return files, subdirectories, markers

    def _layers_of_root(self, root: str) -> tuple[Patterns, ...]:
        above = below(root or ".", self._base) if self._base else ""
        layers = [excluded(self._exclude, root, above and f"{above}/")] if self._exclude else []
        try:
            layers += read_gitignores_above(root)
        except OSError as error:
            self.problems.append(_unreadable(error.filename or root, error.errno))
        return tuple(layers)

    def _with_gitignore(self, directory: str, layers: tuple[Patterns, ...]) -> tuple[Patterns, ...]:
        """Adds the .gitignore of a directory: it beats those further out, and --exclude beats them all."""
        try:
            own = read_gitignore(directory, len(directory))
        except OSError as error:
            self.problems.append(_unreadable(directory + ".gitignore", error.errno))
            return layers
        return (*layers[: self._strongest], own, *layers[self._strongest :])


def _each_file_once(paths: Iterable[str]) -> tuple[list[str], list[Problem]]:
    """The first path to each file, and a problem for each file that is too large."""
    first: dict[tuple[int, int], str] = {}
    problems: list[Problem] = []
    for path in paths:
        try:
            status = os.stat(path)
        except OSError as error:
            problems.append(_unreadable(path, error.errno))
            continue
        if reason := too_large(path, status.st_size):
            problems.append(Problem(path, reason))
        else:
            first.setdefault((status.st_dev, status.st_ino), path)
    return list(first.values()), problems


def processors() -> int:
    """How many processes this one may run at a time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _unreachable(path: str, error: OSError) -> Problem:
    if not isinstance(error, FileNotFoundError):
        return _unreadable(path, error.errno)
    if os.path.islink(path):
        return Problem(path, f"is a link to {os.readlink(path)}, which does not exist; correct or remove the link.")
    return Problem(path, "does not exist; check how it is written.")


def _unreadable(path: str, number: int | None) -> Problem:
    reason = os.strerror(number) if number else "unknown error"
    return Problem(path, f"cannot be read ({reason}); make it readable, or leave it out with --exclude.")


def _not_a_file(path: str, mode: int) -> Problem:
    kind = KINDS.get(stat.S_IFMT(mode), "no regular file")
    return Problem(path, f"is {kind} and was not opened; copy its text to a file, or pipe it into `raymigrate -`.")


def below(path: str, base: str) -> str:
    """A path as patterns see it: relative to their folder, the current one if that is empty."""
    relative = os.path.relpath(path, base or None)
    return "" if relative == "." else relative.replace(os.sep, "/")


def pages_among(paths: Iterable[str]) -> int:
    """How many of some files are pages, of which only the code blocks outside of HTML are read."""
    return sum(path.lower().endswith(PAGES) for path in paths)


def too_large(path: str, size: int) -> str:
    """Why a file of so many bytes is not read; empty if it is."""
    notebook = path.endswith(".ipynb")
    limit = MAX_NOTEBOOK_BYTES if notebook else MAX_BYTES
    if size <= limit:
        return ""
    kind = "notebook" if notebook else "source file"
    return (
        f"has {size / 1e6:.1f} MB, over the limit of {limit // 1_000_000} MB for a {kind}; leave it out with --exclude."
    )
