"""RM696 in the cells of a notebook that hold text: names of classes which its code no longer uses."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from raymigrate.base.findings import Finding, Kind
from raymigrate.codemods.gone.names_in_comments import NAMES, RM696
from raymigrate.run.cell_comments import with_remarks

if TYPE_CHECKING:
    from raymigrate.base.options import Options
    from raymigrate.documents import Document
    from raymigrate.run.outcome import FileResult


def with_texts_told(result: FileResult, document: Document, path: str, options: Options) -> FileResult:
    """The result of a document that notes where the text between its cells names a class which is converted.

    That is, converted wherever the code used it.

    Args:
        result: What became of the code.
        document: The document as it was opened, whose remarks are added to.
        path: Its name.
        options: What the user asked for.
    """
    if not options.enabled(RM696.code):
        return result
    remarks = list[Finding]()
    for name in sorted(NAMES):
        word = re.compile(rf"\b{name}\b")
        kinds = {finding.kind for finding in result.findings if word.search(finding.message)}
        if Kind.CONVERTED not in kinds or kinds & {Kind.MANUAL, Kind.UNSAFE}:
            continue
        places = [
            (cell, number, found.start() + 1)
            for cell in document.cells_of_text
            for number, line in enumerate(document.lines_of(cell), 1)
            if (found := word.search(line))
        ]
        if places:
            cell, line, column = places[0]
            count = len({place[0] for place in places})
            what = f"The text of {count} cells names" if count > 1 else "This text names"
            message = f"{what} {name}, which the code no longer uses{'; this is the first' if count > 1 else ''}."
            remarks.append(Finding(RM696.code, Kind.NOTE, message, "", line, column, path, cell))
    return replace(result, findings=with_remarks(document, remarks, result.findings))
