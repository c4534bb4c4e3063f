# ruff: noqa: PTH113, PTH117 - works on strings, as discovery.py does
"""The files beside legacy or converted scripts that pin versions."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from raymigrate.base.findings import Finding, Kind
from raymigrate.base.toml import toml_values
from raymigrate.codemods.pins.needed_packages import RM732
from raymigrate.codemods.pins.needed_packages import advice as advice_of
from raymigrate.codemods.pins.needed_packages import message as message_of
from raymigrate.comments.skips import comment_at, skipped_whole
from raymigrate.documents import Plain
from raymigrate.documents.lines import Places
from raymigrate.documents.remarks import RM731
from raymigrate.facts.yaml_files import composed
from raymigrate.files.gitignore import Patterns, excluded, is_ignored, read_gitignore, read_gitignores_above
from raymigrate.knowledge.versions import Pin
from raymigrate.pins.evidence import is_converted, is_legacy, uses_ray
from raymigrate.pins.files import PinFile, read, reader_by_path, readers_in
from raymigrate.pins.needed import Needed, missing, needed_by
from raymigrate.pins.readers import SUBFOLDERS
from raymigrate.run.conversion import broken
from raymigrate.run.outcome import FileResult

if TYPE_CHECKING:
    from raymigrate.base.options import Options
    from raymigrate.files.discovery import Discovery
    from raymigrate.run.job import Job

UNREADABLE = "The file cannot be parsed; correct it, or change the version by hand."


def pin_results(
    found: Discovery, results: Mapping[str, FileResult], legacy: Collection[str], job: Job
) -> Iterator[FileResult]:
    """Reports pins, and changes them with --unsafe.

    Looked at are the folders of the scripts and those above them, up to what was named on the command line.

    Args:
        found: The paths that were named, and the scripts that were found.
        results: What became of the scripts.
        legacy: The scripts that are legacy code, also those of which there is nothing to say.
        job: What to do with each file.
    """
    if not job.options.enabled(RM731.code):
        return
    legacy = {*legacy, *(path for path, result in results.items() if is_legacy(result.findings))}
    others = [path for path in found.candidates if path not in results and path not in legacy]
    scripts_of: dict[str, list[str]] = {}
    for path in (*legacy, *others):
        for folder in _folders(path, found.roots):
            scripts_of.setdefault(folder, []).append(path)
    named = [PinFile(path, reader, read(path)) for path in found.named if (reader := reader_by_path(path))]
    done: set[str] = set()
    files = [
        *((file, [*legacy, *others]) for file in named),
        *((file, scripts) for folder, scripts in scripts_of.items() for file in _files(folder, found)),
    ]
    told = {path: results[path] for path in legacy if path in results}
    lacking = _lacking(files, told) if job.options.enabled(RM732.code) else {}
    for file, scripts in files:
        if file.path in done:
            continue
        done.add(file.path)
        try:
            if (file.old_pins or file.path in lacking) and (
                not legacy.isdisjoint(scripts) or _concerns(file, scripts, job.options)
            ):
                earlier = results.get(file.path)
                result = _result(file, job) if earlier is None else _added(earlier, file, job)
                yield result.with_findings([*result.findings, *_told(file, lacking.get(file.path, []))])
        except Exception as error:  # whatever it is, the other files are done
            yield broken(file.path, error)


def _concerns(file: PinFile, scripts: Sequence[str], options: Options) -> bool:
    """Whether pins belong to converted scripts, or to Ray at all where the user asks for pins alone."""
    texts = (read(path) or b"" for path in scripts)
    if not options.names(RM731.code):
        return any(is_converted(text, file.old_pins) for text in texts)
    return any(pin.name == "ray" for pin in file.old_pins) or any(map(uses_ray, texts))


def _lacking(
    files: Sequence[tuple[PinFile, Sequence[str]]], legacy: Mapping[str, FileResult]
) -> dict[str, list[tuple[Needed, int]]]:
    """What converted scripts need and none of their files lists: by the path of the file that has to list it."""
    found: dict[str, list[tuple[Needed, int]]] = {}
    told = set[tuple[str, str]]()
    files = [(file, users) for file, users in files if _is_read(file)]
    for file, scripts in files:
        ours = [path for path in scripts if path in legacy]
        needed = {n.name: n for path in ours for n in needed_by(legacy[path].before, legacy[path].findings)}
        others = {name for other, users in files if not set(ours).isdisjoint(users) for name in other.names}
        for lacking, place in missing(needed.values(), file.names, others):
            key = (lacking.name, min(ours))
            if key not in told:  # one list of several is enough
                told.add(key)
                found.setdefault(file.path, []).append((lacking, place))
    return found


def _is_read(file: PinFile) -> bool:
    """Whether the reader of a file gets along with it; what it raises is reported with the file."""
    try:
        return file.names is not None
    except Exception:
        return False


def _told(file: PinFile, lacking: Iterable[tuple[Needed, int]]) -> Iterator[Finding]:
    """The findings on packages that a file lacks."""
    text = file.script.text
    places = Places(text)
    for needed, start in lacking:
        line, column = places.place(start)
        finding = Finding(RM732.code, Kind.MANUAL, message_of(needed), advice_of(needed), line, column, file.path)
        skip = comment_at(text.split("\n"), line, RM732.code) or skipped_whole(text, RM732.code)
        yield finding if skip is None else finding.skipped(skip.reason)


def _folders(path: str, roots: Sequence[str]) -> Iterator[str]:
    """The folder of a script, and those above it up to the named one: "" or ending with a slash."""
    for root in roots:
        if path.startswith(root) and not (root == "" and os.path.isabs(path)):
            folder = path[: path.rfind("/") + 1]
            while len(folder) > len(root):
                yield folder
                folder = folder[: folder.rstrip("/").rfind("/") + 1]
            yield root
            return


def _files(folder: str, found: Discovery) -> list[PinFile]:
    """The files of a folder, and of the subfolders that are named after such files."""
    paths = [
        path for directory in (folder, *(f"{folder}{name}/" for name in SUBFOLDERS)) for path in readers_in(directory)
    ]
    if not paths:
        return []
    layers = layers_of(folder, found)
    files = []
    for path, reader in paths:
        subfolder = path[: path.rfind("/") + 1]
        if not is_ignored(layers, path) and (subfolder == folder or not is_ignored(layers, subfolder)):
            files.append(PinFile(path, reader, read(path)))
    return files


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


def _added(earlier: FileResult, file: PinFile, job: Job) -> FileResult:
    """The result of a file that is a script as well, such as a setup.py that imports ray: both changes in turn."""
    earlier = earlier.without_stale({skip.line for skip in file.skips.values()})
    result = _result(file, job)
    after = earlier.after
    if result.changes:
        after = result.after
        if earlier.after is not None:
            after = _result(PinFile(file.path, file.reader, earlier.new_bytes), job).after
    document = earlier.document or result.document
    whole = replace(earlier, after=after, document=document, changes=earlier.changes or result.changes)
    return whole.with_findings([*earlier.findings, *result.findings])


def _result(file: PinFile, job: Job) -> FileResult:
    text = file.script.text
    pins = file.old_pins
    new = _applied(text, [pin for pin in pins if pin not in file.skips])
    refused = new != text and not (_parses(file.path, text) and _parses(file.path, new))
    findings = []
    places = Places(text)
    for pin in sorted(pins, key=lambda pin: pin.start):
        line, column = places.place(pin.start)
        obstacle = pin.obstacle or (UNREADABLE if refused else "")
        if obstacle:
            kind, advice = Kind.MANUAL, obstacle
        elif job.options.unsafe:
            kind, advice = Kind.CONVERTED, ""
        else:
            kind, advice = (
                Kind.UNSAFE,
                "Run with --unsafe --select RM731 to change it; then reinstall and verify the job.",
            )
        finding = Finding(RM731.code, kind, pin.message, advice, line, column, file.path)
        skip = file.skips.get(pin)
        findings.append(finding if skip is None else finding.skipped(skip.reason))
    changes = job.options.unsafe and new != text and not refused
    after = new if changes and job.rewrite else None
    return FileResult(file.path, findings, text, changes, after, document=Plain(file.script))


def _applied(text: str, pins: Iterable[Pin]) -> str:
    parts, done = [], 0
    for pin in sorted(pins, key=lambda pin: pin.place):
        if pin.replaceable:
            start, end = pin.place
            parts += [text[done:start], pin.replacement]
            done = end
    return "".join([*parts, text[done:]])


def _parses(path: str, text: str) -> bool:
    """Whether a file is what its name says, where a parser can tell."""
    parser = next((parse for suffix, parse in PARSERS.items() if path.endswith(suffix)), None)
    try:
        if parser is not None:
            parser(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return False
    return True


def _toml(text: str) -> object:
    return toml_values(text.replace("\r\n", "\n"))


PARSERS: Mapping[str, Callable[[str], object]] = {
    ".toml": _toml,
    "Pipfile": _toml,
    ".yml": composed,
    ".yaml": composed,
    ".py": ast.parse,
}
