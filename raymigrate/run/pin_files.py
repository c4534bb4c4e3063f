"""Which files pin versions below the folders that were named, and which scripts each of them is for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from raymigrate.base.expressions import lazy_regex
from raymigrate.files.discovery import SUFFIXES, files_below
from raymigrate.pins.files import PinFile, decode, is_script, names_packages, names_ray, read, reader_by_path
from raymigrate.pins.pythons import python_version
from raymigrate.pins.readers import HIDDEN, SUBFOLDERS

if TYPE_CHECKING:
    from raymigrate.files.discovery import Discovery


# A script as jobs and commands name it: its path, or its module behind -m.
NAMED = lazy_regex(r"(?P<path>[\w./-]+\.(?:py|ipynb))\b|(?<=\s-m\s)\s*(?P<module>[\w.]+)")


class Owner(NamedTuple):
    """The folder whose scripts the lists of packages in a folder are for.

    Args:
        folder: That folder, "" or ending with a slash.
        is_sure: Whether the folder of the lists is this one, or says by its name what it holds.
    """

    folder: str
    is_sure: bool = True


def files_for(scripts: Sequence[str], found: Discovery) -> list[PinFile]:
    """The files that may pin versions of scripts, the nearest first.

    Lists of packages are for the scripts in their folder and below. Those in a folder beside the code, which holds no
    script of its own, are for the scripts of the next folder above that has some: if its name says what it is there
    for, or a list in it names Ray. Else it may be of another service. Wherever it is, a file is for the scripts that it
    starts, as the entrypoint of a RayJob does.

    Args:
        scripts: The scripts whose pins are asked for.
        found: The folders that were named.
    """
    if not scripts:
        return []
    folders, holding = _looked_for(found)
    owned: list[tuple[Owner, PinFile]] = []
    by_name: dict[str, list[str]] = {}
    for script in scripts:
        by_name.setdefault(script.rpartition("/")[2], []).append(script)
    for folder, paths in folders.items():
        root = _root(folder, found.roots)
        owner = _owner(folder, root, holding)
        users = _below(owner.folder, scripts, holding)
        files = [file for path in paths if (file := _naming_packages(path, users))]
        if users and (owner.is_sure or any(names_ray(file.data) for file in files)):
            owned += [(owner, _with_started(file, by_name, root)) for file in files]
        else:
            starting = (_with_started(replace(file, scripts=()), by_name, root) for file in files)
            owned += [(owner, file) for file in starting if file.scripts]
    owned.sort(key=lambda pair: (-pair[0].folder.count("/"), pair[1].path.count("/"), pair[1].path))
    return [file for _, file in owned]


def _with_started(file: PinFile, scripts: Mapping[str, list[str]], root: str) -> PinFile:
    """A file with the scripts that it starts among those that it is for."""
    started = [script for script in _started(file, scripts, root) if script not in file.scripts]
    return replace(file, scripts=[*file.scripts, *dict.fromkeys(started)]) if started else file


def _started(file: PinFile, scripts: Mapping[str, list[str]], root: str) -> Iterator[str]:
    """The scripts that a file names: by a path from a folder around it, or by the end of a path that only one has.

    Args:
        scripts: The scripts that are asked about, by the last part of their path.
        root: The named folder that the file is in.
    """
    for named in NAMED.finditer(decode(file.data or b"").text):
        written = named["path"] or f"{named['module'].replace('.', '/')}.py"
        parts = [part for part in written.split("/") if part not in ("", ".", "..")]
        known = scripts.get(parts[-1], []) if parts else []
        around = (f"{folder}{'/'.join(parts)}" for folder in _upwards(file.path[: file.path.rfind("/") + 1], root))
        there = next((path for path in around if path in known or Path(path).is_file()), None) if known else None
        ends = ("/".join(parts[start:]) for start in range(len(parts)))
        matching = ([path for path in known if f"/{path}".endswith(f"/{end}")] for end in ends)
        meant = next(filter(None, matching), []) if there is None else [there]
        if len(meant) == 1 and meant[0] in known:
            yield meant[0]


def _naming_packages(path: str, users: Sequence[str]) -> PinFile | None:
    """A file with what it pins; None if it names none of the packages, like most of the YAML of a project."""
    reader, data = reader_by_path(path), read(path)
    names_some = names_packages(data) or reader is python_version  # which is nothing but a version
    return PinFile(path, reader, data, users) if reader is not None and names_some else None


def _looked_for(found: Discovery) -> tuple[dict[str, list[str]], set[str]]:
    """The files with lists of packages by their folder, and the folders that hold scripts, or have them below."""
    folders: dict[str, list[str]] = {}
    holding = set[str]()
    for path in files_below(found, lambda path: path.endswith(SUFFIXES) or reader_by_path(path) is not None, HIDDEN):
        folder = path[: path.rfind("/") + 1]
        if not is_script(path):
            folders.setdefault(folder, []).append(path)
        elif folder not in holding:
            holding.update(_upwards(folder, _root(folder, found.roots)))
    return folders, holding


def _owner(folder: str, root: str, holding: Iterable[str]) -> Owner:
    is_sure = True
    for place in _upwards(folder, root):
        is_named_so = place.rstrip("/").rpartition("/")[2] in SUBFOLDERS
        if place == root or (place in holding and not is_named_so):
            return Owner(place, is_sure)
        is_sure = is_sure and is_named_so
    return Owner(root, is_sure)


def _below(folder: str, scripts: Sequence[str], holding: Iterable[str]) -> list[str]:
    """The scripts below a folder; all of them for one that was named and holds none, as it was named for some."""
    if folder not in holding:
        return list(scripts)
    return [path for path in scripts if path.startswith(folder) and not (folder == "" and path.startswith("/"))]


def _root(folder: str, roots: Sequence[str]) -> str:
    """The named folder that a folder is in."""
    return next(root for root in roots if folder.startswith(root) and not (root == "" and folder.startswith("/")))


def _upwards(folder: str, root: str) -> Iterator[str]:
    """A folder, and those above it up to the named one."""
    while len(folder) > len(root):
        yield folder
        folder = folder[: folder.rstrip("/").rfind("/") + 1]
    yield root
