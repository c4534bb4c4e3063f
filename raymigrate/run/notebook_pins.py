# ruff: noqa: PTH118, PTH119, PTH120 - works on strings, as discovery.py does
"""RM731 in notebooks with nothing legacy in them that use a script of the project which is converted, or was.

What they install is what the script runs with, also where they start it with a launcher and know nothing of Ray
themselves. They are looked at as with `--select RM731`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from raymigrate.codemods.pins.needed_packages import RM732
from raymigrate.documents import UndecodableError, open_document
from raymigrate.documents.remarks import RM731
from raymigrate.documents.shell_lines import shell_of_notebook
from raymigrate.facts.module import Module
from raymigrate.facts.packages import module_file
from raymigrate.files.discovery import files_below
from raymigrate.pins.evidence import is_converted, is_legacy, may_be_converted
from raymigrate.pins.files import read
from raymigrate.pins.needed import Needed, needed_by
from raymigrate.run.cell_packages import with_packages_of_scripts
from raymigrate.run.outcome import FileResult

if TYPE_CHECKING:
    from raymigrate.files.discovery import Discovery
    from raymigrate.run.job import Job

NOTEBOOK = ".ipynb"
# A line that starts a script: `!python train.py`, `accelerate launch --num_processes 2 train.py`.
STARTED = re.compile(
    r"\b(?:python[\d.]*|torchrun|accelerate[ \t]+launch|deepspeed)(?=[ \t])[^\n|&;]*?[ \t](?P<script>[\w./-]+\.py)\b"
)


def pins_of_notebooks(
    found: Discovery, results: Mapping[str, FileResult], legacy: Collection[str], job: Job
) -> Iterator[FileResult]:
    """The results of such notebooks. For the arguments see `pin_results`."""
    if job.options.names(RM731.code) or not job.options.enabled(RM731.code):
        return  # all notebooks have been looked at, or none is to be
    paths = {*legacy, *(path for path, result in results.items() if is_legacy(result.findings))}
    scripts = {os.path.realpath(path) for path in paths if path.endswith(".py")}
    others = {path: read(path) or b"" for path in found.candidates if path.endswith(".py") and path not in paths}
    earlier = {os.path.realpath(path): text for path, text in others.items() if may_be_converted(text)}
    if not scripts and not earlier:
        return
    stems = [
        os.path.basename(os.path.dirname(s) if s.endswith("/__init__.py") else s[:-3]) for s in (*scripts, *earlier)
    ]
    named = re.compile(b"|".join(re.escape(os.fsencode(stem)) for stem in sorted(stems)))
    listed = [*found.candidates, *files_below(found, lambda path: path.endswith(NOTEBOOK))]
    for path in dict.fromkeys(path for path in listed if path.endswith(NOTEBOOK)):
        data, known = read(path), results.get(path)
        if data is None or named.search(data) is None or (known is not None and not _is_left(known)):
            continue
        used = set(_used(path, data))
        if used.isdisjoint((*scripts, *earlier)):
            continue
        result = replace(job, options=replace(job.options, select=(RM731.code,)), for_ray=True).look(path)
        if job.options.enabled(RM732.code):
            result = with_packages_of_scripts(result, list(_needed(results, used & scripts)), path)
        pins = [pin for _, pin in result.document.pins] if result.document is not None else []
        if result.is_shown and (used & scripts or any(is_converted(earlier[file], pins) for file in used & {*earlier})):
            yield result if known is None else _both(known, result)


def _is_left(result: FileResult) -> bool:
    """Whether nothing was said yet of what a notebook installs, nor anything of it changed."""
    remarks = result.document.remarks if result.document is not None else []
    return not result.changes and not any(remark.code in (RM731.code, RM732.code) for remark in remarks)


def _both(known: FileResult, result: FileResult) -> FileResult:
    """The result of a notebook with what was said of it before."""
    for document in (result.document, result.rewritten):
        if document is not None and known.document is not None:
            document.remarks = [*dict.fromkeys([*known.document.remarks, *document.remarks])]
    return result.with_findings([*dict.fromkeys([*known.findings, *result.findings])])


def _needed(results: Mapping[str, FileResult], scripts: Collection[str]) -> Iterator[Needed]:
    """What converted scripts need, each package once."""
    found = (result for path, result in results.items() if os.path.realpath(path) in scripts)
    yield from dict.fromkeys(each for result in found for each in needed_by(result.before, result.findings))


def _used(path: str, data: bytes) -> Iterator[str]:
    """The files beside a notebook that it imports, or that its commands start."""
    try:
        document = open_document(data, path)
        module = Module(document.text)
    except (UndecodableError, SyntaxError, ValueError, RecursionError, MemoryError):
        return  # none that can be read
    folder = os.path.dirname(path)
    for statement in module.imports:
        for alias in statement.names:
            parts = module.imported(statement, alias).strip(".").split(".")
            files = (module_file(os.path.join(folder, *parts[:length])) for length in range(1, len(parts) + 1))
            yield from (os.path.realpath(file) for file in files if file is not None)
    for _, text in shell_of_notebook(data):
        for started in STARTED.finditer(re.sub(r"\\\r?\n", " ", text)):
            yield os.path.realpath(os.path.join(folder, started["script"]))
