"""Where a finding stands, for readers of files: those of a notebook in an editor of text see JSON, not cells."""

from raymigrate.base.findings import Finding
from raymigrate.documents import Document
from raymigrate.documents.notebook import Notebook


def place_in_file(finding: Finding, document: Document | None) -> tuple[int, int] | None:
    """Line and column in the file itself; None in a notebook that was refused before its cells were known.

    Args:
        finding: With its place as people count: in a notebook by cell.
        document: The one that it has its place in.
    """
    if not finding.cell:
        return finding.line, finding.column

    if not isinstance(document, Notebook):
        return None
    return document.place_in_file(finding.cell, finding.line, finding.column)


def line_text(finding: Finding) -> str:
    """The line in words, with the cell where there is one."""
    return f"cell {finding.cell}, line {finding.line}" if finding.cell else f"line {finding.line}"
