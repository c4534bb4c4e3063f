"""RM732 in cells: packages that converted code needs, and that the lines which install the others leave out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from raymigrate.base.findings import Finding, Kind
from raymigrate.codemods.pins.needed_packages import RM732, advice, message
from raymigrate.documents import Document, Place
from raymigrate.documents.remarks import shell_text
from raymigrate.pins.evidence import is_legacy
from raymigrate.pins.needed import Needed, installed, missing, needed_by
from raymigrate.run.cell_comments import CellComments
from raymigrate.run.outcome import FileResult

if TYPE_CHECKING:
    from raymigrate.base.options import Options


def with_needed_packages(result: FileResult, document: Document, path: str, options: Options) -> FileResult:
    """The result of a document that says what its install commands leave out.

    Args:
        result: What became of the document.
        document: The document as it was opened.
        path: Its name.
        options: What the user asked for.
    """
    findings = [*result.findings, *document.remarks]
    if not options.enabled(RM732.code) or not is_legacy(findings):
        return result
    text = "\n".join([document.text, *(script.text for script in document.scripts)])
    needed = needed_by(text, findings)
    result = replace(result, findings=_tell(document, needed, path, result.findings))
    if result.rewritten is not None and result.rewritten is not document:
        told = len(result.rewritten.remarks)
        left = _tell(result.rewritten, needed, path, result.left)
        new = result.rewritten.remarks[told:]  # nothing is legacy in the next run, which does not tell them
        result = replace(result, left=left, told_once=result.told_once + sum(f.kind is Kind.MANUAL for f in new))
    return result


def _tell(document: Document, needed: Sequence[Needed], path: str, findings: list[Finding]) -> list[Finding]:
    """Adds what a document lacks to its remarks.

    Returns:
        The findings less those that call a comment stale which silences one of the new remarks.
    """
    comments = CellComments(document)
    places = _installed(document)
    for lacking, _ in missing(needed, dict.fromkeys(places, 0)):
        place = places[lacking.companion]
        remark = Finding(RM732.code, Kind.MANUAL, message(lacking), advice(lacking), place.line, place.column, path)
        skip = comments.of(RM732.code, place.cell, place.line)
        remark = remark if skip is None else remark.skipped(skip.reason)
        document.remarks = [*document.remarks, replace(remark, cell=place.cell)]
    return comments.without_stale(findings)


def _installed(document: Document) -> dict[str, Place]:
    """The packages that commands in the cells install, each with its first place."""
    found: dict[str, Place] = {}
    for cell in document.cells_with_commands:
        text = shell_text(document.lines_of(cell))
        for name, start in installed(text).items():
            line_start = text.rfind("\n", 0, start) + 1
            found.setdefault(name, Place(cell, text.count("\n", 0, start) + 1, start - line_start + 1))
    return found
