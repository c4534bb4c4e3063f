# ruff: noqa: PTH118, PTH119, PTH120 - works on strings, as discovery.py does
"""RM731 in notebooks with nothing legacy in them that use a script of the project which is converted, or was.

What they install is what the script runs with, also where they start it with a launcher and know nothing of Ray
themselves. They are looked at as with `--select RM731`. Sources of Databricks are notebooks too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from raymigrate.base.expressions import lazy_regex
from raymigrate.codemods.pins.needed_packages import RM732
from raymigrate.documents import UndecodableError, open_document
from raymigrate.documents.remarks import RM731
from raymigrate.documents.shell_lines import is_databricks_source, shell_of_notebook, shell_of_source
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.packages import module_file, package_root
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
STARTED = lazy_regex(
    r"\b(?:python[\d.]*|torchrun|accelerate[ \t]+launch|deepspeed)(?=[ \t])[^\n|&;]*?[ \t](?P<script>[\w./-]+\.py)\b"
)


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
        with_pins: Gives the result of a file beside the others of its project, with its pins.
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
    real = {os.path.realpath(path): result for path, result in results.items()}
    named = re.compile(b"|".join(re.escape(os.fsencode(stem)) for stem in sorted(stems)))
    listed = [*found.candidates, *files_below(found, lambda path: path.endswith(NOTEBOOK))]
    for path in dict.fromkeys(path for path in listed if path.endswith((NOTEBOOK, ".py"))):
        data, known = read(path), results.get(path)
        if data is None or named.search(data) is None or (known is not None and not _is_left(known)):
            continue
        if not path.endswith(NOTEBOOK) and not is_databricks_source(data):
            continue
        used = set(_used(path, data)) - {os.path.realpath(path)}
        if used.isdisjoint((*scripts, *earlier)):
            continue
        alone = replace(job, options=replace(job.options, select=(RM731.code,)), for_ray=True)
        result = with_pins(path) if known is not None and known.changes else alone.look(path)
        result = with_pins(path) if result.waits else result  # for other files
        if job.options.enabled(RM732.code):
            result = with_packages_of_scripts(result, list(_needed(real, used & scripts)), path)
        pins = [pin for _, pin in result.document.pins] if result.document is not None else []
        if result.is_shown and (used & scripts or any(is_converted(earlier[file], pins) for file in used & {*earlier})):
            yield result if known is None else result.with_told(known)


def _is_left(result: FileResult) -> bool:
    """Whether a notebook could be read, and not all that it installs was a concern yet."""
    document = result.document
    is_whole = document is not None and not result.has_error
    is_told = document is not None and any(remark.code in (RM731.code, RM732.code) for remark in document.remarks)
    return is_whole and not (document is not None and document.for_ray and is_told)


def _needed(results: Mapping[str, FileResult], scripts: Collection[str]) -> Iterator[Needed]:
    """What converted scripts need, each package once; results and scripts by their real paths."""
    found = [results[script] for script in sorted(scripts) if script in results]
    yield from dict.fromkeys(each for result in found for each in needed_by(result.before, result.findings))


def _used(path: str, data: bytes) -> Iterator[str]:
    """The files beside a notebook that it imports, or that its commands start."""
    try:
        module = Module(open_document(data, path).text)
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
    is_source = is_databricks_source(data)
    texts = [(0, shell_of_source(data.decode(errors="replace")))] if is_source else shell_of_notebook(data)
    for _, text in texts:
        for started in STARTED.finditer(re.sub(r"\\\r?\n", " ", text)):
            yield os.path.realpath(os.path.join(folder, started["script"]))
