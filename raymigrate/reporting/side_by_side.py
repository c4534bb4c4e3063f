"""The old and the new text of a file beside each other, with the findings at their lines."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby, zip_longest
from operator import itemgetter

from markupsafe import Markup
from pygments import lex
from pygments.lexer import Lexer
from pygments.lexers import PythonLexer, TextLexer
from pygments.token import STANDARD_TYPES

from raymigrate.base.findings import Finding
from raymigrate.documents import Document, Plain
from raymigrate.documents.line_changes import LineMatcher
from raymigrate.run.outcome import FileResult

CONTEXT = 3  # unchanged lines shown around what there is to see, as in a diff


@dataclass(frozen=True)
class Line:
    """One line of one side.

    Args:
        place: The cell, 0 where there are none, and the line in it.
        text: As it is in the file.
        code: The same with syntax colours.
    """

    place: tuple[int, int]
    text: str
    code: Markup


@dataclass(frozen=True)
class Row:
    """One line of both sides; an unchanged line is given on the right, and its number on the left too."""

    left: Line | None
    right: Line | None
    findings: tuple[Finding, ...] = ()

    @property
    def is_changed(self) -> bool:
        """Whether the sides differ."""
        return self.left is None or self.right is None or self.left.text != self.right.text


@dataclass(frozen=True)
class Block:
    """Rows that follow each other; folded ones hold nothing that there is to see."""

    rows: list[Row]
    folded: bool


def blocks_of(result: FileResult) -> list[Block]:
    """All lines of a file, in blocks that are worth looking at and blocks that are not.

    Args:
        result: What became of the file, with the places of its findings as readers see them (`FileResult.in_cells`).
    """
    before = _lines(result.path, result.document, result.before)
    after = before if result.after is None else _lines(result.path, result.rewritten or result.document, result.after)
    in_new_text = result.places is not None
    rows = list(_rows(before, after))
    at: dict[tuple[int, int], list[Finding]] = {}
    for finding in result.findings:
        at.setdefault((finding.cell, finding.line), []).append(finding)
    placed = []
    for row in rows:
        side = row.right if in_new_text else row.left
        placed.append(Row(row.left, row.right, tuple(at.pop(side.place, ())) if side else ()))
    return _folded(placed)


def _rows(before: Sequence[Line], after: Sequence[Line]) -> Iterator[Row]:
    matcher = LineMatcher([line.text for line in before], [line.text for line in after])
    for _, start, stop, new_start, new_stop in matcher.get_opcodes():
        yield from (Row(*pair) for pair in zip_longest(before[start:stop], after[new_start:new_stop]))


def _folded(rows: list[Row]) -> list[Block]:
    """The rows in blocks: what changes or has a finding is shown with some lines around it, and so are short gaps."""
    shown = [False] * len(rows)
    for index, row in enumerate(rows):
        if row.is_changed or row.findings:
            first = max(index - CONTEXT, 0)
            stop = min(index + CONTEXT + 1, len(rows))
            shown[first:stop] = [True] * (stop - first)
    blocks = []
    for visible, group in groupby(zip(shown, rows, strict=True), key=itemgetter(0)):
        together = [row for _, row in group]
        blocks.append(Block(together, folded=not visible and len(together) > CONTEXT))
    return blocks


def _lines(path: str, document: Document | None, text: str) -> list[Line]:
    """The lines of a file as its readers see them: in a notebook those of the cells that hold Python.

    Args:
        document: How the text is stored in it; None for text without a file.
        text: Its Python as one module.
    """
    if document is None or isinstance(document, Plain):
        sources = {0: text.split("\n")}
    else:
        cells = {document.place(number, 1).cell: None for number in range(1, text.count("\n") + 2)}  # in their order
        sources = {cell: document.lines_of(cell) for cell in cells}
    numbered = [((cell, number), line) for cell, lines in sources.items() for number, line in enumerate(lines, 1)]
    if numbered and not numbered[-1][1]:
        numbered.pop()  # after the last line feed
    coloured = _coloured("\n".join(line for _, line in numbered), _lexer(path))
    return [Line(place, line, code) for (place, line), code in zip(numbered, coloured, strict=False)]


def _lexer(path: str) -> Lexer:
    """Python gets colours; requirements and other files with pins are read well enough without."""
    lexer: type[Lexer] = PythonLexer if path.endswith((".py", ".ipynb")) else TextLexer
    return lexer(stripnl=False, ensurenl=False)


def _coloured(text: str, lexer: Lexer) -> list[Markup]:
    """Each line of a text with its tokens in spans, whose classes are the short names of pygments."""
    lines: list[list[str]] = [[]]
    for token, value in lex(text, lexer):
        name = STANDARD_TYPES.get(token, "")
        for index, part in enumerate(escape(value, quote=False).split("\n")):
            if index:
                lines.append([])
            if part:
                lines[-1].append(f'<span class="{name}">{part}</span>' if name else part)
    return [Markup("".join(parts)) for parts in lines]
