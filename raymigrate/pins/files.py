# ruff: noqa: PTH113, PTH116, PTH119 - works on strings, as discovery.py does
"""The files that may pin versions: which there are in a folder, and what they pin."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from raymigrate.comments.skips import Skip, comment_at, skipped_whole
from raymigrate.documents.lines import Places
from raymigrate.documents.remarks import RM731
from raymigrate.files.contents import read_bytes
from raymigrate.files.discovery import SKIPPED, SUFFIXES, too_large
from raymigrate.files.script import Script
from raymigrate.knowledge.versions import PACKAGES, Pin
from raymigrate.pins.job_files import databricks_job, shell_script
from raymigrate.pins.needed import installed, listed
from raymigrate.pins.pythons import python_version
from raymigrate.pins.readers import (
    SUBFOLDERS,
    Reader,
    cluster_file,
    dockerfile,
    installing_lines,
    listed_for_pip,
    lock_file,
    reader_of,
)

MANY_FOLDERS = 100  # so many in one folder hold data


@dataclass
class PinFile:
    """A file that may pin versions.

    Args:
        path: Where it is.
        reader: Who reads it.
        data: Its bytes; None if it cannot be read.
        scripts: The paths of the scripts that it is for.
    """

    path: str
    reader: Reader
    data: bytes | None
    scripts: Sequence[str] = ()

    @cached_property
    def script(self) -> Script:
        """The text, with what is needed to write it back."""
        return decode(self.data or b"")

    @cached_property
    def names(self) -> dict[str, int]:
        """The packages that it lists, with their places; none in a file of locked or constrained versions."""
        if (
            self.data is None
            or self.reader in (lock_file, databricks_job)
            or "constraint" in os.path.basename(self.path).lower()
        ):
            return {}
        text = self.script.text
        if self.reader is cluster_file:
            text = installing_lines(text)
            lists = {name: item.start("item") for item in listed_for_pip(text) for name in listed(item["item"])}
            return {**lists, **installed(text)}
        names = installed(text) if self.reader in (dockerfile, shell_script) else listed(text)
        return names if self.reader is not shell_script or "ray" in names else {}

    @cached_property
    def old_pins(self) -> list[Pin]:
        """What excludes versions that are needed."""
        return [pin for pin in self.pins if pin.is_too_low and pin.matters_to(map(_text, self.scripts))]

    @cached_property
    def skips(self) -> dict[Pin, Skip]:
        """The comments that silence old pins: on their line, alone above it, or for the whole file."""
        text, code = self.script.text, RM731.code
        lines, whole = text.split("\n"), skipped_whole(text, code)
        places = Places(text)
        found = {pin: comment_at(lines, places.place(pin.start)[0], code) or whole for pin in self.old_pins}
        return {pin: skip for pin, skip in found.items() if skip is not None}

    @cached_property
    def pins(self) -> list[Pin]:
        """The versions that it asks for; nothing in a file that cannot be understood."""
        if not (names_packages(self.data) or self.reader is python_version):
            return []
        try:
            return list(self.reader(self.script.text))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return []


class Dated(NamedTuple):
    """A file with its state, by which it is seen whether answers about it still hold."""

    path: str
    reader: Reader
    changed: int
    size: int


def as_they_are(files: Iterable[tuple[str, Reader]]) -> tuple[Dated, ...]:
    """Files with their state, less those that are gone."""
    found = []
    for path, reader in files:
        try:
            status = os.stat(path)
        except OSError:
            continue
        found.append(Dated(path, reader, status.st_mtime_ns, status.st_size))
    return tuple(found)


def reader_by_path(path: str) -> Reader | None:
    """Who reads a file, by its name and that of its folder; None if nobody does."""
    folder, name = os.path.split(path)
    return reader_of(name, os.path.basename(folder))


def is_script(path: str) -> bool:
    """Whether a file is a script or notebook, and no setup.py."""
    return path.endswith(SUFFIXES) and reader_by_path(path) is None


def names_packages(data: bytes | None) -> bool:
    """Whether a file may name any of the packages of which a version may be too old."""
    return data is not None and re.search(PACKAGES, data.replace(b"\0", b""), re.IGNORECASE) is not None


def names_ray(data: bytes | None) -> bool:
    """Whether a list of packages, or a name of an image in it, names Ray."""
    return data is not None and re.search(rb"\bray\b", data) is not None


def readers_in(directory: str) -> list[tuple[str, Reader]]:
    """The files of a directory that a reader reads; none where there is no such directory."""
    try:
        return list(_readers_in(directory, os.stat(directory or ".").st_mtime_ns))
    except OSError:
        return []  # what cannot be read was reported by the search for scripts


@lru_cache(maxsize=256)  # it is asked for each script of a folder
def _readers_in(directory: str, _changed: int) -> list[tuple[str, Reader]]:
    with os.scandir(directory or ".") as entries:
        names = sorted(entry.name for entry in entries if not entry.name.startswith("."))
    paths = [directory + name for name in names]
    return [(path, reader) for path in paths if (reader := reader_by_path(path)) and os.path.isfile(path)]


def folders_of_lists(folder: str) -> list[str]:
    """A folder, and those in it with lists of packages for its scripts: their name says so, or a list that names Ray.

    In the second case they hold no scripts: these would have lists of their own.

    Args:
        folder: The folder, ending with a slash.
    """
    try:
        inner = _folders_in(folder, os.stat(folder).st_mtime_ns)
    except OSError:
        return [folder]
    named = [path for path in inner if os.path.basename(path[:-1]) in SUBFOLDERS]
    others = [path for path in inner if path not in named] if len(inner) < MANY_FOLDERS else []
    return [folder, *named, *filter(_only_lists_ray, others)]


@lru_cache(maxsize=256)
def _folders_in(folder: str, _changed: int) -> list[str]:
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.is_dir() and not entry.name.startswith(".")]
    return sorted(f"{folder}{name}/" for name in names if name not in SKIPPED)


def _only_lists_ray(folder: str) -> bool:
    """Whether a list of packages in a folder names Ray, while the folder holds no scripts, not even further below."""
    if not _any_names_ray(as_they_are(readers_in(folder))):
        return False
    return not any(is_script(name) for _, _, names in os.walk(folder) for name in names)


@lru_cache(maxsize=256)
def _any_names_ray(files: tuple[Dated, ...]) -> bool:
    return any(names_ray(read(file.path)) for file in files)


def _text(script: str) -> str:
    text = decode(read(script) or b"").text
    return text.replace("\\n", " \n") if script.endswith(".ipynb") else text  # the lines of its cells


def read(path: str) -> bytes | None:
    """The bytes of a file; None if it cannot be read, or is too large for what it should be."""
    try:
        return read_bytes(path) if not too_large(path, os.stat(path).st_size) else None
    except OSError:
        return None


def decode(data: bytes) -> Script:
    """The text of a file: UTF-8, or UTF-16 with its mark (as PowerShell writes it), or else bytes as they are."""
    bom = data.startswith(b"\xef\xbb\xbf")
    body = data[3:] if bom else data
    marks = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
    for encoding in (marks.get(data[:2], "utf-8"), "utf-8"):
        try:
            return Script(body.decode(encoding), encoding, bom)
        except UnicodeDecodeError:
            continue
    return Script(body.decode("latin-1"), "latin-1", bom)
