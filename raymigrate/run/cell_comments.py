"""Comments in a document that silence what is said of the document itself, such as of what its lines install."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from raymigrate.base.findings import Finding, Kind
from raymigrate.comments.skips import RM906, Skip, Skips, comment_at

if TYPE_CHECKING:
    from raymigrate.documents import Document
    from raymigrate.run.outcome import FileResult

    Tell = Callable[[Document], Iterable[Finding]]


class CellComments:
    """The skip comments of a document, as far as remarks ask for them.

    Args:
        document: The document.
    """

    def __init__(self, document: Document) -> None:
        self._document = document
        self._comments = Skips(document.text)
        self._used: set[tuple[int, int]] = set()  # cell and line of comments that silence something

    def of(self, code: str, cell: int, line: int) -> Skip | None:
        """The comment that silences a rule on a line, or in the whole file."""
        if found := comment_at(self._document.lines_of(cell), line, code):
            self._used.add((cell, found.line))
        elif found := self._comments.of_file(code):
            self._used.add(self._document.place(found.line, found.column)[:2])
        return found

    def heeded(self, remark: Finding) -> Finding:
        """A remark of the document, or what is left of it where a comment silences it."""
        found = self.of(remark.code, remark.cell, remark.line)
        return remark if found is None else remark.skipped(found.reason)

    def without_stale(self, findings: list[Finding]) -> list[Finding]:
        """Findings less those that call a comment stale which silences a remark of the document."""
        place = self._document.place
        return [f for f in findings if f.code != RM906.code or place(f.line, f.column)[:2] not in self._used]


def with_told(result: FileResult, document: Document, tell: Tell, *, once: bool = False) -> FileResult:
    """The result of a document with what there is to say of it, and of it as it is with the new text.

    Args:
        result: What became of its code.
        document: The document as it was opened, whose remarks are added to, as those of the rewritten one are.
        tell: Gives the remarks.
        once: Whether no later run tells them.
    """
    result = replace(result, findings=with_remarks(document, tell(document), result.findings))
    new = result.rewritten
    if new is None or new is document:
        return result
    count = len(new.remarks)
    left = with_remarks(new, tell(new), result.left)
    told = sum(remark.kind is Kind.MANUAL for remark in new.remarks[count:]) if once else 0
    return replace(result, left=left, told_once=result.told_once + told)


def with_remarks(document: Document, remarks: Iterable[Finding], findings: list[Finding]) -> list[Finding]:
    """Adds remarks to those of a document, as far as comments in it do not silence them.

    Args:
        document: The document.
        remarks: What there is to say of it.
        findings: What there is to say of its code.

    Returns:
        The findings less those that call a comment stale which silences one of the remarks.
    """
    told = list(remarks)
    if not told:
        return findings
    comments = CellComments(document)
    document.remarks = [*document.remarks, *map(comments.heeded, told)]
    return comments.without_stale(findings)
