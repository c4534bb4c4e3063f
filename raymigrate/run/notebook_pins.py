# ruff: noqa: PTH118, PTH119, PTH120 - works on strings, as discovery.py does
"""RM731 in notebooks with nothing legacy in them that use a script of the project which is converted, or was.

What they install is what the script runs with. They are looked at as with `--select RM731`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from raymigrate.documents import Document, UndecodableError, open_document
from raymigrate.documents.remarks import RM731
from raymigrate.facts.module import Module
from raymigrate.facts.packages import module_file
from raymigrate.files.discovery import files_below
from raymigrate.pins.evidence import is_converted, is_legacy, may_be_converted, uses_ray
from raymigrate.pins.files import read
from raymigrate.run.outcome import FileResult

if TYPE_CHECKING:
    from raymigrate.files.discovery import Discovery
    from raymigrate.run.job import Job

NOTEBOOK = ".ipynb"
STARTED = re.compile(r"\bpython3?(?:[ \t]+-u)?[ \t]+(?P<script>[\w./-]+\.py)\b")


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
    for path in dict.fromkeys(path for path in listed if path.endswith(NOTEBOOK) and path not in results):
        data = read(path)
        if data is None or not uses_ray(data) or named.search(data) is None:
            continue
        used = set(_used(path, data))
        if used.isdisjoint((*scripts, *earlier)):
            continue
        result = replace(job, options=replace(job.options, select=(RM731.code,))).look(path)
        pins = [pin for _, pin in result.document.pins] if result.document is not None else []
        if result.is_shown and (used & scripts or any(is_converted(earlier[file], pins) for file in used & {*earlier})):
            yield result


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
    for cell in document.cells_with_commands:
        for started in STARTED.finditer("\n".join(_lines(document, cell))):
            yield os.path.realpath(os.path.join(folder, started["script"]))


def _lines(document: Document, cell: int) -> list[str]:
    """The lines of a cell that are commands of the shell."""
    return [line for line in document.lines_of(cell) if line.lstrip().startswith(("!", "%"))]
