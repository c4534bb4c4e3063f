"""Scripts that cells of a notebook write (`%%writefile train.py`): each is converted as a file of its own is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from raymigrate.base.findings import Finding, Kind
from raymigrate.base.submitted_jobs import JobScript, SubmittedJob
from raymigrate.codemods.gone.submitted_jobs import RAISES
from raymigrate.documents import Document, edited
from raymigrate.documents.notebook import Notebook
from raymigrate.documents.remarks import RM905, shell_text
from raymigrate.facts.projects.submitted_jobs import METHOD, submitted_by_code, submitted_by_commands
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.older_ray import is_for_older_ray
from raymigrate.pins.written_for import written_for
from raymigrate.run.engine import convert
from raymigrate.run.gates import concerns
from raymigrate.run.outcome import FileResult

if TYPE_CHECKING:
    from raymigrate.base.options import Options
    from raymigrate.documents.cell_files import CellFile

LISTS = ("runtime_env", "RuntimeEnv")


def knowing_scripts(options: Options, document: Document, path: str) -> Options:
    """Options that tell, where a notebook has lists of packages for jobs, which scripts its cells write for these."""
    if not document.scripts or not any(word in document.text for word in LISTS):
        return options
    found = ((script, _converted(script, path, options, rewrite=False)) for script in document.scripts)
    scripts = (JobScript(s.name, s.text, tuple(result.findings if result else ())) for s, result in found)
    return replace(options, cell_scripts=tuple(scripts))


def with_scripts_converted(
    result: FileResult, document: Document, path: str, options: Options, *, rewrite: bool
) -> FileResult:
    """The result of a notebook with the scripts converted that its cells write.

    What the notebook and its scripts import from each other is not looked up: the files are there only once it ran. A
    script that a comment keeps as it is, or that cannot be converted, stays as it is, and the notebook says so (RM905).

    Args:
        result: What became of the notebook itself; what a later run says of it is `left`, changed or not.
        document: The notebook.
        path: Its name.
        options: What the user asked for.
        rewrite: See `engine.convert`.
    """
    new = result.rewritten or document
    before, after = list(document.remarks), list(new.remarks)
    changed: dict[int, list[str]] = {}
    changes, told_once = result.changes, 0
    submitted = _submitted(document, path, options) if document.scripts else []
    kept = {remark.cell for remark in document.remarks if (remark.code, remark.kind) == (RM905.code, Kind.SKIPPED)}
    for script in document.scripts:
        if script.number in kept:
            continue
        found = _converted(script, path, replace(options, submitted=_for(script, document, submitted)), rewrite=rewrite)
        if found is None:
            continue
        changes |= found.changes
        written = found.written()
        told_once += written.told_once
        before = _told(before, script, found.findings, path)
        after = _told(after, script, written.findings, path)
        if found.after is not None:
            changed[script.number] = found.after.removesuffix("\n").split("\n")
    assert isinstance(new, Notebook)
    rewritten = result.rewritten
    if changed:
        rewritten = edited(new, new.with_scripts(changed), path)
        rewritten.pins = new.pins
    document.remarks = before
    if rewritten is None:
        return replace(result, changes=changes)
    rewritten.remarks = after
    return replace(result, changes=changes, after=rewritten.text, rewritten=rewritten, told_once=told_once)


def _submitted(document: Document, path: str, options: Options) -> list[SubmittedJob]:
    """The jobs that the notebook submits, in Python or by a command."""
    module = Module(document.text)
    jobs = list(submitted_by_code(module)) if METHOD in document.text else []
    for cell in document.cells_with_commands:
        jobs += submitted_by_commands(shell_text(document.lines_of(cell)))
    is_old = bool(jobs) and (
        is_for_older_ray(module) or written_for(module, path, options.from_ray).surely_before(RAISES)
    )
    return [replace(job, is_for_older_ray=is_old) for job in jobs]


def _for(script: CellFile, document: Document, jobs: list[SubmittedJob]) -> tuple[SubmittedJob, ...]:
    """The jobs of a notebook as a script of it sees them: whether it is for an older Ray itself changes as it does."""
    is_old = bool(jobs) and any(_is_old(other.text) for other in document.scripts if other is not script)
    return tuple(replace(job, is_for_older_ray=job.is_for_older_ray or is_old) for job in jobs)


def _is_old(text: str) -> bool:
    try:
        return is_for_older_ray(Module(text))
    except SyntaxError:
        return False


def _converted(script: CellFile, path: str, options: Options, *, rewrite: bool) -> FileResult | None:
    """What becomes of a script; None if it does not concern the tool, or cannot be converted and stays unread."""
    name = str(Path(path).parent / script.name)
    if not concerns(script.text.encode("utf-8", "surrogatepass"), name, options):
        return None
    found = convert(script.text, name, options, rewrite=rewrite)
    return None if found.has_error else found


def _told(remarks: list[Finding], script: CellFile, findings: list[Finding], path: str) -> list[Finding]:
    """What there is to say of a notebook, once a script of it is read: its findings, at their places in the cell."""
    told = [remark for remark in remarks if remark.code != RM905.code or remark.cell != script.number]
    for finding in findings:
        cell, line, column = script.place(finding.line, finding.column)
        told.append(replace(finding, cell=cell, line=line, column=column, path=path))
    return told
