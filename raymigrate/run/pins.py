"""The files beside legacy or converted scripts that pin versions."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Finding, Kind
from raymigrate.base.toml import toml_values
from raymigrate.codemods.pins.needed_packages import RM732
from raymigrate.codemods.pins.needed_packages import advice as advice_of
from raymigrate.codemods.pins.needed_packages import message as message_of
from raymigrate.documents import Plain
from raymigrate.documents.lines import Places
from raymigrate.documents.remarks import RM731
from raymigrate.facts.projects.yaml_files import composed
from raymigrate.knowledge.versions import Pin
from raymigrate.pins.evidence import is_converted, is_legacy, may_be_converted, uses_ray
from raymigrate.pins.files import PinFile, decode, read, reader_by_path
from raymigrate.pins.needed import Needed, missing, needed_by, needed_still
from raymigrate.run.configuration_names import heeded
from raymigrate.run.conversion import broken
from raymigrate.run.outcome import FileResult
from raymigrate.run.pin_files import files_for

if TYPE_CHECKING:
    from raymigrate.files.discovery import Discovery
    from raymigrate.run.job import Job

# Names of lists that are not those of the training, where there is another one: `requirements-serve.txt`.
OTHER_LIST = lazy_regex(
    r"(?<![a-z])(?:serv(?:e|ing|er|ice)|inference|predict(?:ion)?|api|deploy(?:ment)?|dev(?:el(?:opment)?)?|docs?"
    r"|tests?|lint|ci)(?![a-z])",
    re.IGNORECASE,
)
SERVES = lazy_regex(r"(?<![\w-])ray *\[ *serve *\]")
UNREADABLE = "The file cannot be parsed; correct it, or change the version by hand."


def pin_results(
    found: Discovery, results: Mapping[str, FileResult], legacy: Collection[str], job: Job
) -> Iterator[FileResult]:
    """Reports pins, and changes them with --unsafe.

    Looked at are files that were named, and those below the named folders that are for these scripts. They are looked
    for only where a script needs it: the folders are walked once more.

    Args:
        found: The paths that were named, and the scripts that were found.
        results: What became of the scripts.
        legacy: The scripts that are legacy code, also those of which there is nothing to say.
        job: What to do with each file.
    """
    if not job.options.enabled(RM731.code):
        return

    legacy = {*legacy, *(path for path, result in results.items() if is_legacy(result.findings))}
    others = [path for path in found.candidates if path not in legacy]
    is_asked = job.options.names(RM731.code)
    named_lists = [(path, reader) for path in found.named_lists if (reader := reader_by_path(path))]
    is_needed = legacy or named_lists or is_asked or any(may_be_converted(read(path) or b"") for path in others)
    scripts = [*sorted(legacy), *others] if is_needed else []
    named = {path: PinFile(path, reader, read(path), scripts) for path, reader in named_lists}
    files = [*named.values(), *(file for file in files_for(scripts, found) if file.path not in named)]
    needs = {path: needed_by(results[path].before, results[path].findings) for path in legacy if path in results}
    needs |= {path: needed_still(text) for path in others if (text := _text_of_today(path))}
    lacking = _lacking(files, needs) if job.options.enabled(RM732.code) else {}
    for file in files:
        try:
            ours = not legacy.isdisjoint(file.scripts)
            if file.path in lacking or (
                file.old_pins and (ours or _concerns(file, is_asked=is_asked, is_named=file.path in named))
            ):
                earlier = results.get(file.path)
                result = _result(file, job) if earlier is None else _added(earlier, file, job)
                told = heeded(_told(file, lacking.get(file.path, [])), file.script.text, job.options)
                yield result.with_findings([*result.findings, *told])
        except Exception as error:  # whatever it is, the other files are done
            yield broken(file.path, error)


def _concerns(file: PinFile, *, is_asked: bool, is_named: bool) -> bool:
    """Whether pins belong to converted scripts, or to Ray at all.

    Args:
        file: Where they are.
        is_asked: Whether the user asks for pins alone.
        is_named: Whether the user names the file.
    """
    if (is_asked or is_named) and any(pin.name == "ray" for pin in file.old_pins):
        return True
    texts = (read(path) or b"" for path in file.scripts)
    return any(map(uses_ray, texts)) if is_asked else any(is_converted(text, file.old_pins) for text in texts)


def _text_of_today(path: str) -> str:
    """The text of a script that may have been converted before; empty for others."""
    data = read(path) or b""
    return decode(data).text if may_be_converted(data) else ""


def _lacking(files: Sequence[PinFile], needs: Mapping[str, list[Needed]]) -> dict[str, list[tuple[Needed, int]]]:
    """What scripts need and none of their files lists: by the path of the file that has to list it.

    Args:
        files: The files that list packages.
        needs: What each script needs.
    """
    found: dict[str, list[tuple[Needed, int]]] = {}
    told = set[tuple[str, str]]()
    files = [file for file in files if _is_read(file)]
    for file in sorted(files, key=_is_beside_training):  # stable
        ours = [path for path in file.scripts if path in needs]
        needed = {n.name: n for path in ours for n in needs[path]}
        others = {name for other in files if not set(ours).isdisjoint(other.scripts) for name in other.names}
        for lacking, place in missing(needed.values(), file.names, others):
            key = (lacking.name, min(ours))
            if key not in told:  # one list of several is enough
                told.add(key)
                found.setdefault(file.path, []).append((lacking, place))
    return found


def _is_beside_training(file: PinFile) -> bool:
    """Whether a list is for something else than training, as its name or the part of Ray in it says.

    It may list for the training all the same, where no other one does.
    """
    return OTHER_LIST.search(PurePath(file.path).name) is not None or SERVES.search(file.script.text) is not None


def _is_read(file: PinFile) -> bool:
    """Whether the reader of a file gets along with it; what it raises is reported with the file."""
    try:
        return file.names is not None
    except Exception:
        return False


def _told(file: PinFile, lacking: Iterable[tuple[Needed, int]]) -> Iterator[Finding]:
    """The findings on packages that a file lacks."""
    places = Places(file.script.text)
    for needed, start in lacking:
        place = places.place(start)
        yield Finding(RM732.code, Kind.MANUAL, message_of(needed), advice_of(needed), *place, file.path)


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
