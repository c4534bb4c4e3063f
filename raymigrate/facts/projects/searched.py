"""What was found when the files of a project were searched, and the patterns that names are searched by."""

import re
import unicodedata
from dataclasses import dataclass, field

from raymigrate.files.script import UndecodableError, decode

BYTES_KEPT = 30_000_000  # of files that are searched for names


@dataclass
class Searched:
    """What was found when the files of folders were searched, whatever they were searched for.

    Args:
        contents: What the files hold on the disk, by folder and file; None where it was not read, or is not kept.
        room: How many bytes may still be kept.
        importing: The files with a word in an import, by folder and word.
        of_packages: The files that name a package or are part of it, by folder and its `__init__.py`.
        naming: The files that hold the name of a module, by folder and name.
        imported: The real paths of the files that the imports of a file lead to; None where not all can be told.
        ways: Whether the imports of a file lead to another one, in one step or several, by path and real path.
        strings: The strings of files that may be names of functions; None where a file cannot be parsed.
        scripts: The names of the scripts of a folder that accelerate may have launched, by folder.
        kept: What functions marked as `kept` found.
    """

    contents: dict[str, dict[str, bytes | None]] = field(default_factory=dict)
    room: int = BYTES_KEPT
    importing: dict[str, dict[bytes, list[str]]] = field(default_factory=dict)
    of_packages: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    naming: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    imported: dict[str, frozenset[str] | None] = field(default_factory=dict)
    ways: dict[tuple[str, str], bool] = field(default_factory=dict)
    strings: dict[str, frozenset[str] | None] = field(default_factory=dict)
    scripts: dict[str, list[str]] = field(default_factory=dict)
    kept: dict[object, object] = field(default_factory=dict)


@dataclass
class Paths:
    """What the file system said of paths.

    Args:
        real: Without links, by path.
        folders: Of the project, by the folder of a file.
        roots: Where absolute imports start, by the folder of a file.
        files: Of modules, by the folder and what a file in it imports.
    """

    real: dict[str, str] = field(default_factory=dict)
    folders: dict[str, str] = field(default_factory=dict)
    roots: dict[str, list[str]] = field(default_factory=dict)
    files: dict[tuple[str, str, int], str | None] = field(default_factory=dict)


def quotes(name: str) -> re.Pattern[bytes]:
    """Finds a string that holds a name and nothing else."""
    return re.compile(rb"['\"]" + re.escape(name.encode()) + rb"['\"]")


def dotted(name: str) -> re.Pattern[bytes]:
    """Finds a string that holds a dotted name which ends with a name: `patch("training.init.build")`."""
    return re.compile(rb"['\"][\w.]*\." + re.escape(name.encode()) + rb"['\"]")


def takes_by_module(data: bytes, module: str, name: str) -> bool:
    """Whether a file takes a name from a module by words that do not import it: in strings, settings or cells.

    Args:
        data: The file.
        module: The last part of the module's name.
        name: What it has: `import_module("training.init")` and `.build`, `patch("training.init.build")`,
            `_target_: init.build`, and in a cell of a notebook `from init import build`.
    """
    last, found = re.escape(module.encode()), re.escape(name.encode())
    imported = rb"\bfrom\s+[\w.]*\b" + last + rb"\s+import\b[^\n\\]*\b" + found + rb"\b"
    named = rb"\b" + last + rb"\." + found + rb"\b|" + imported
    loaded = rb"import_module\(\s*['\"](?:[\w.]*\.)?" + last + rb"['\"]"
    if re.search(named, data):
        return True
    return bool(re.search(loaded, data) and re.search(rb"\." + found + rb"\b|['\"]" + found + rb"['\"]", data))


def spells(data: bytes, name: str) -> bool:
    """Whether a Python file holds a name, in its encoding and in any of the spellings that Python takes for one."""
    if name.encode() in data or data.isascii():
        return name.encode() in data
    try:
        return name in unicodedata.normalize("NFKC", decode(data).text)
    except UndecodableError:
        return False


def word(text: bytes) -> re.Pattern[bytes]:
    """Finds a text as a word; what comes before it is looked at last, as a search for a fixed start is much faster."""
    escaped = re.escape(text)
    return re.compile(escaped + rb"\b(?<=\b" + escaped + rb")")
