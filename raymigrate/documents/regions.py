"""Text files with regions of Python: cells of a script, code blocks of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from raymigrate.base.findings import Finding
from raymigrate.documents.cells import Cell, Cells, OfCells
from raymigrate.documents.highlights import MovedLines, renumbered
from raymigrate.documents.lines import Line, spliced, split_lines
from raymigrate.documents.remarks import Place
from raymigrate.files.script import Script

if TYPE_CHECKING:
    from raymigrate.documents.cell_files import CellFile
    from raymigrate.knowledge.versions import Pin


class Head(NamedTuple):
    """The lines that open a region.

    Args:
        start: The index of the first one.
        skips_blank: Whether the lines of the region count from the first that is not blank.
    """

    start: int
    skips_blank: bool = False


class Regions(OfCells):
    """A text file with regions of Python; what is outside of them stays byte for byte.

    Args:
        script: The decoded file.
        regions: The first line of each region and the one after its last, as indices, and its indentation.
    """

    written: Mapping[str, str | None] = {}  # the cells of notebooks alone write such files
    cells_of_text: Sequence[int] = ()

    def __init__(self, script: Script, regions: Sequence[tuple[int, int, int]]) -> None:
        self._script = script
        self.encoding = script.encoding
        self._lines = split_lines(script.text)
        self._texts = [line.text for line in self._lines]
        cells = []
        for start, stop, indent in regions:
            cells.append(Cell(0, start + 1, tuple(line[indent:] for line in self._texts[start:stop]), indent))
        self._cells = Cells(cells)
        self.remarks: list[Finding] = list(self._cells.remarks)
        self.for_ray = False
        self.pins: list[tuple[Place, Pin]] = []
        self.scripts: list[CellFile] = []
        self.cells_with_commands = [0]
        self.shell_rows: frozenset[int] = frozenset()
        self.bare_markers: dict[int, int] = {}
        """By the index of a region, the line of a marker that says nothing but that a cell begins."""
        self.heads: dict[int, Head] = {}
        """By the index of a region, what stands before it and may speak of its lines by their numbers."""

    @property
    def has_unread(self) -> bool:
        """Whether Python's parser does not take one of them."""
        return bool(self._cells.unread)

    def lines_of(self, cell: int) -> list[str]:
        """The lines of the file, which has no numbered cells."""
        return self._texts

    def encode(self, text: str) -> bytes:
        """The file with a changed text; `NotSplit` if that cannot be."""
        result: list[Line] = []
        position = 0
        for index, lines in sorted(self._cells.split(text).items()):
            cell = self._cells.cells[index]
            start, stop = cell.first - 1, cell.first - 1 + len(cell.lines)
            old = self._lines[start:stop]
            margin = next((line.text[: cell.indent] for line in old if line.text.strip()), " " * cell.indent)
            # A blank line of an indented region may be shorter than the margin: it is recognised by what is left of it.
            bare = [line._replace(text=line.text[cell.indent :]) for line in old]
            new = spliced(bare, lines)
            head = self.heads.get(index, Head(start))
            result += self._lines[position : head.start]
            result += _renumbered(self._lines[head.start : start], head, bare, new)
            result += [
                old[at]._replace(end=line.end) if at is not None else line._replace(text=_indented(line.text, margin))
                for at, line in new
            ]
            position = stop
        result += self._lines[position:]
        return self._script.encode("".join(line.text + line.end for line in result))

    @property
    def blank_cells(self) -> set[int]:
        """The regions that hold nothing, by their index."""
        return {index for index, cell in enumerate(self._cells.cells) if cell.is_blank}

    def without(self, blank: set[int]) -> tuple[bytes, list[int]]:
        """See `Document.without`; a region goes with its bare marker."""
        lines, numbers = list(self._lines), list(self.numbers)
        for index in sorted(blank & self.bare_markers.keys(), reverse=True):
            marker, cell = self.bare_markers[index], self._cells.cells[index]
            stop = cell.first - 1 + len(cell.lines)
            if any(map(str.strip, self._texts[marker + 1 : stop])):
                continue  # a title
            del lines[marker:stop]
            del numbers[index]
            while marker == len(lines) and lines and not lines[-1].text.strip():
                marker -= 1  # what set the last cell off
                del lines[marker]
        return self._script.encode("".join(line.text + line.end for line in lines)), numbers

    def raised(self) -> bytes:
        """See `Document.raised`."""
        lines = list(self._lines)
        for place, pin in reversed(self.pins):
            if pin.replaceable:
                (start, end), old = pin.place, lines[place.line - 1]
                lines[place.line - 1] = old._replace(text=old.text[:start] + pin.replacement + old.text[end:])
        return self._script.encode("".join(line.text + line.end for line in lines))


def _renumbered(lines: list[Line], head: Head, old: list[Line], new: list[tuple[int | None, Line]]) -> list[Line]:
    """The lines that open a region with the numbers of the lines as they are now."""
    if not lines:
        return lines
    blank = next((i for i, line in enumerate(old) if line.text.strip()), 0) if head.skips_blank else 0
    origins = [None if at is None else at - blank for at, _ in new[blank:]]
    moved = MovedLines([line.text for line in old[blank:]], [line.text for _, line in new[blank:]], origins)
    texts = renumbered("\n".join(line.text for line in lines), moved).split("\n")
    return [Line(text, line.end) for text, line in zip(texts, lines, strict=False)]


def _indented(line: str, margin: str) -> str:
    return margin + line if line.strip() else line
