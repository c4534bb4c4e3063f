# ruff: noqa: PTH118, PTH119, PTH120 - works on strings, as discovery.py does
"""RM731 in notebooks without Ray Train in them that use a script of the project which is converted, or was.

What they install is what the script runs with. They are looked at as with `--select RM731`. Sources of Databricks are
notebooks too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from raymigrate.base.findings import Kind
from raymigrate.documents import Document, UndecodableError, open_document
from raymigrate.documents.remarks import RM731
from raymigrate.documents.shell_lines import is_databricks_source
from raymigrate.facts.module import Module
from raymigrate.facts.packages import module_file, package_root
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
    found: Discovery,
    results: Mapping[str, FileResult],
    legacy: Collection[str],
    job: Job,
    with_pins: Callable[[str], FileResult],
) -> Iterator[FileResult]:
    """The results of such notebooks. For the other arguments see `pin_results`.

    Args:
        found: What was searched.
        results: What became of the files.
        legacy: The files that are legacy code.
        job: What is done with each file.
        with_pins: Gives the result of a file that has one anew, with its pins.
    """
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
    for path in dict.fromkeys(path for path in listed if path.endswith((NOTEBOOK, ".py"))):
        known = results.get(path)
        if known is not None and not _may_get_pins(known):
            continue
        data = read(path) if path.endswith(NOTEBOOK) or path not in others else others[path]
        if data is None or not uses_ray(data) or named.search(data) is None:
            continue
        if not path.endswith(NOTEBOOK) and not is_databricks_source(data):
            continue
        used = set(_used(path, data)) - {os.path.realpath(path)}
        if used.isdisjoint((*scripts, *earlier)):
            continue
        asked = replace(job, options=replace(job.options, select=(RM731.code,)))
        result = asked.look(path) if known is None else with_pins(path)
        result = with_pins(path) if result.waits else result  # for other files
        pins = [pin for _, pin in result.document.pins] if result.document is not None else []
        if not result.is_shown or (known is not None and not pins):
            continue
        if used & scripts or any(is_converted(earlier[file], pins) for file in used & {*earlier}):
            yield result if known is None else result.with_findings(known.findings)


def _may_get_pins(result: FileResult) -> bool:
    """Whether something is said of a notebook already, but its pins were of no concern."""
    is_whole = not any(finding.kind is Kind.ERROR for finding in result.findings)
    return is_whole and result.document is not None and not result.document.for_ray


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
            places = (
                os.path.join(base, *parts[:length])
                for base in dict.fromkeys((folder, package_root(folder)))
                for length in range(1, len(parts) + 1)
            )
            yield from (os.path.realpath(file) for file in map(module_file, places) if file is not None)
    for cell in document.cells_with_commands:
        for started in STARTED.finditer("\n".join(_lines(document, cell))):
            yield os.path.realpath(os.path.join(folder, started["script"]))


def _lines(document: Document, cell: int) -> list[str]:
    """The lines of a cell that are commands of the shell."""
    return [line for line in document.lines_of(cell) if line.lstrip().startswith(("!", "%"))]
