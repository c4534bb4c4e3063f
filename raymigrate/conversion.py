"""One document's way through the engine: its text is converted, and has to fit into the file again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from raymigrate.config import Options
from raymigrate.documents import Document, NotSplit, Plain, reopened
from raymigrate.engine import RM902, RM903, FileResult, Refused, convert
from raymigrate.findings import Finding, Kind

if TYPE_CHECKING:
    from raymigrate.facts.project import Project


def failed(path: str, message: str, line: int = 1, column: int = 1) -> FileResult:
    """The result of a file that could not be read or written."""
    return FileResult(path, [Finding(RM902.code, Kind.ERROR, message, "", line, column, path)])


def convert_document(
    document: Document, path: str, options: Options, *, rewrite: bool = True, project: Project | None = None
) -> FileResult:
    """Converts what a file holds.

    Args:
        document: The file as it was opened.
        path: Its name.
        options: What the user asked for.
        rewrite: See `engine.convert`.
        project: See `engine.convert`.

    Returns:
        The result, with places in the text of the document; `FileResult.in_cells` gives those in the file.
    """
    refusals = [replace(remark, path=path) for remark in document.remarks if remark.kind is Kind.ERROR]
    if refusals:
        return FileResult(path, refusals, document.text)
    if isinstance(document, Plain):
        result = convert(document.text, path, options, rewrite=rewrite, project=project)
        result.document = result.rewritten = document
        return result
    rewritten: list[Document] = []

    def settle(text: str) -> str:
        try:
            rewritten[:] = [reopened(document, text, path)]
        except NotSplit as error:
            raise Refused(RM903, f"left as it was: {error}.") from error
        return rewritten[0].text

    result = convert(document.text, path, options, rewrite=rewrite, project=project, settle=settle)
    result.document = document
    result.rewritten = rewritten[0] if result.after and rewritten else None
    return result
