"""Copies the folder of a script: all that the job may need, and nothing that should not lie about.

The copies of `--keep` stay. So hidden files and keys are never copied; a job whose code names one gets a link to it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from raymigrate.files.discovery import SUFFIXES
from raymigrate.runtime.watcher import MARKER

# Files above this size are data: they are linked, not copied.
COPIED_BYTES = 10_000_000
# Folders of tools, and files that no job reads. They are not reported.
UNTOLD = frozenset(
    {
        *(".git", ".gitignore", ".gitattributes", ".gitmodules", ".github", ".hg", ".svn", ".venv", ".tox", ".nox"),
        *(".mypy_cache", ".ruff_cache", ".pytest_cache", ".ipynb_checkpoints", ".idea", ".vscode", ".DS_Store"),
        *("__pycache__", "node_modules"),
    }
)
# Names of key files: those that ssh-keygen makes, and the suffixes of the formats for private keys.
KEY_NAME = re.compile(
    r"id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|.+\.(?:pem|key|p12|pfx|jks|keystore|ppk|kdbx)", re.IGNORECASE
)
# A private key as RFC 7468 and OpenSSH write it, also inside the JSON of a cloud's service account.
KEY_TEXT = re.compile(rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----")
KEY_BYTES = 100_000
# Libraries that read a file `.env` without being told its name.
READ_DOTENV = re.compile(r"\b(?:dotenv|decouple|environs)\b")
MOST_TOLD = 8


class How(Enum):
    """What becomes of an entry of the folder in its copy."""

    FOLDER = "a folder"
    COPY = "copied"
    LINK = "linked"
    LEFT_OUT = "left out"


@dataclass(frozen=True)
class Entry:
    """A file or folder beside a script.

    Args:
        path: Where it is.
        name: Its path below the folder of the script.
        how: What becomes of it.
        private: Whether it is hidden or a key, or lies in a hidden folder.
    """

    path: Path
    name: Path
    how: How
    private: bool = False


def copied(script: Path, folder: Path) -> Path:
    """Copies a script with the files of its folder.

    Args:
        script: The script.
        folder: Where to; it is made.

    Returns:
        The script in the new folder.

    Raises:
        OSError: If the script cannot be read, or the copy cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for entry in entries(script):
        target = folder / entry.name
        if entry.how is How.FOLDER:
            target.mkdir(exist_ok=True)
        elif entry.how is How.LINK:
            target.symlink_to(_link(entry.path, script.parent))
        elif entry.how is How.COPY:
            with contextlib.nullcontext() if entry.path == script else contextlib.suppress(FileNotFoundError):
                _copy(entry.path, target)
    return folder / script.name


def left_out(scripts: Iterable[Path]) -> str:
    """One sentence on what lies beside scripts and is not copied; empty if nothing is worth telling."""
    found = {str(entry.name) for script in scripts for entry in entries(script) if entry.how is How.LEFT_OUT}
    names = sorted(found)
    if not names:
        return ""
    more = f" and {len(names) - MOST_TOLD} more" if len(names) > MOST_TOLD else ""
    return (
        f"Not copied from the folder of the script: {', '.join(names[:MOST_TOLD])}{more}. Hidden files, keys and what "
        "cannot be read stay where they are; a hidden file or key that the code names is linked."
    )


def entries(script: Path) -> Iterator[Entry]:
    """All that lies in the folder of a script and below, each folder before what it holds."""
    top = script.parent
    found = list(_entries(top, Path(), frozenset({top.resolve(), *top.resolve().parents}), private=False))
    named = _Named(entry.path for entry in found if entry.path.suffix in SUFFIXES and not entry.private)
    linked: set[Path] = set()
    for entry in found:
        if not entry.private or entry.path == script:
            yield entry
        elif entry.name.parent in linked or named(entry.name.name):
            linked.add(entry.name)
            yield replace(entry, how=How.LINK) if entry.how is How.COPY else entry
        elif not any(parent.name.startswith(".") for parent in entry.name.parents):  # its folder is reported
            yield replace(entry, how=How.LEFT_OUT)


class _Named:
    """Whether the code of a job names a file; its texts are read when this is first asked."""

    def __init__(self, sources: Iterable[Path]) -> None:
        self._sources = sources
        self._text: str | None = None

    def __call__(self, name: str) -> bool:
        if self._text is None:
            self._text = "\n".join(map(_text, self._sources))
        if name == ".env" and READ_DOTENV.search(self._text):
            return True
        return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self._text) is not None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace") if path.stat().st_size <= COPIED_BYTES else ""
    except OSError:
        return ""


def _entries(folder: Path, name: Path, entered: frozenset[Path], *, private: bool) -> Iterator[Entry]:
    """What a folder holds; `entered` are the folders that links must not lead into again."""
    with os.scandir(folder) as found:
        inside = sorted(found, key=lambda entry: entry.name)
    for entry in inside:
        path, below = folder / entry.name, name / entry.name
        if entry.name in UNTOLD:
            continue
        hidden = private or entry.name.startswith(".")
        try:
            yield from _entry(entry, path, below, entered, hidden)
        except OSError:  # no right to read it, or it has just gone
            yield Entry(path, below, How.LEFT_OUT, hidden)


def _entry(entry: os.DirEntry[str], path: Path, name: Path, entered: frozenset[Path], hidden: bool) -> Iterator[Entry]:
    """An entry of a folder, and what it holds.

    Raises:
        OSError: If it cannot be read.
    """
    if entry.is_symlink() and not _is_code(path, entered):
        yield Entry(path, name, How.LINK, hidden)
    elif entry.is_dir():
        if (path / "pyvenv.cfg").exists() or (path / MARKER).exists():  # a virtual environment; a folder of ours
            return
        entered = entered | {path.resolve()} if entry.is_symlink() else entered
        inside = list(_entries(path, name, entered, private=hidden))
        yield Entry(path, name, How.FOLDER, hidden)
        yield from inside
    elif not entry.is_file() or not os.access(path, os.R_OK):
        yield Entry(path, name, How.LEFT_OUT, hidden)
    else:
        size = entry.stat().st_size
        yield Entry(path, name, How.LINK if size > COPIED_BYTES else How.COPY, hidden or _is_key(path, size))


def _is_code(link: Path, entered: frozenset[Path]) -> bool:
    """Whether a link leads to a script, or to a folder of scripts: those are converted, so they have to be copies."""
    if link.is_dir():
        return link.resolve() not in entered and any(path.suffix in SUFFIXES for path in link.iterdir())
    return link.suffix in SUFFIXES and link.is_file()


def _is_key(path: Path, size: int) -> bool:
    if path.suffix in SUFFIXES:
        return False
    return KEY_NAME.fullmatch(path.name) is not None or (
        size <= KEY_BYTES and KEY_TEXT.search(path.read_bytes()) is not None
    )


def _link(path: Path, top: Path) -> str:
    """What a link in the copy leads to: the same file, or, for a link inside the folder, its copy."""
    if not path.is_symlink():
        return os.path.abspath(path)  # noqa: PTH100 - resolve() would follow links
    target = os.readlink(path)  # noqa: PTH115 - the text of the link
    if os.path.isabs(target):  # noqa: PTH117
        return target
    absolute = os.path.normpath(path.parent / target)
    return target if Path(absolute).is_relative_to(top) else absolute


def _copy(path: Path, target: Path) -> None:
    shutil.copy2(path, target)
    target.chmod(target.stat().st_mode | 0o600)  # it may be converted, though the original may be read only
