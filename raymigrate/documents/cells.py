"""Cells joined to the text of one module, so that a name imported in one and used in another resolves; and back."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Finding
from raymigrate.documents.lines import trimmed
from raymigrate.documents.magics import Masked, masked, syntax_error
from raymigrate.documents.remarks import Place, not_parsed, uses_train
from raymigrate.files.discovery import MAX_BYTES
from raymigrate.files.script import UndecodableError

# The names that stand between cells and for what is masked in them.
STAND_INS = lazy_regex(r"\b_+cell_(?:mask_)?\d+__(?!\w)")
# What a cell that cannot be parsed may not mention, besides Ray: it might use, or hide, what the other cells are about.
LEGACY_TRAINERS = {"HuggingFaceTrainer", "TransformersTrainer", "AccelerateTrainer"}


EDGE = 20  # characters between two cells, about


class NotSplit(Exception):
    """A changed text does not fall into the same cells; the message says why."""


def refuse_much_code(lengths: Iterable[int]) -> None:
    """Refuses cells that together are longer than a source file may be, given how long each is.

    Raises:
        UndecodableError: If they are.
    """
    total = sum(length + EDGE for length in lengths)
    if total > MAX_BYTES:
        raise UndecodableError(
            f"has {total / 1e6:.1f} MB of code in its cells, over the limit of {MAX_BYTES // 1_000_000} MB;"
            " leave it out with --exclude"
        )


@dataclass(frozen=True)
class Cell:
    """The Python of one cell.

    Args:
        number: Its number, counted from 1 over all cells of the document, or 0 where places are those of the file.
        first: The line, in the cell or in the file, on which the Python starts.
        lines: The source lines, without what comes before every line of the cell.
        indent: How many characters that is.
    """

    number: int
    first: int
    lines: tuple[str, ...]
    indent: int = 0

    @property
    def is_blank(self) -> bool:
        """Whether it holds nothing."""
        return not any(line.strip() for line in self.lines)

    def place(self, line: int, column: int) -> Place:
        """A place in the document, from an index of a line and a column."""
        return Place(self.number, self.first + line, self.indent + column)


@dataclass
class Cells:
    """Cells as one module.

    Between them stand lines with a name that is used nowhere else. These are statements, not comments, so that
    nothing can come to stand on the wrong side of a cell's edge, or go away together with its neighbour.

    Args:
        cells: The cells, in order.

    Attributes:
        numbers: What the edges before the cells are named by. Each cell keeps its number when others go, so that it is
            found in a text with fewer of them.
    """

    cells: list[Cell]
    numbers: list[int] = field(init=False)
    text: str = field(init=False)
    unread: list[tuple[Cell, SyntaxError]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        """Masks and joins them; cells that cannot be parsed take no part. Too much code is refused."""
        refuse_much_code(sum(map(len, cell.lines)) + len(cell.lines) for cell in self.cells)
        source = "\n".join("\n".join(cell.lines) for cell in self.cells)
        self._prefix = next(p for n in count(1) if (p := f"{'_' * n}cell_") not in source)
        self._parts: list[tuple[int, Masked]] = []  # index of the cell, its lines
        names = (f"{self._prefix}mask_{number}__" for number in count(1))
        for index, cell in enumerate(self.cells):
            part = masked(cell.lines, lambda: next(names))
            if error := syntax_error("\n".join(part.lines)):
                part = masked(cell.lines, lambda: next(names), automagic=True)
                if syntax_error("\n".join(part.lines)):
                    self.unread.append((cell, error))
                    continue
            self._parts.append((index, part))
        self.number(range(1, len(self.cells) + 1))

    def number(self, numbers: Iterable[int]) -> None:
        """Gives the cells other numbers, and the text other edges with them."""
        self.numbers = list(numbers)
        self.text = self._joined()

    @property
    def remarks(self) -> Iterator[Finding]:
        """What there is to say of cells that cannot be parsed."""
        legacy = self._names_from_ray() | LEGACY_TRAINERS
        for cell, error in self.unread:
            place = cell.place((error.lineno or 1) - 1, error.offset or 1)
            concerns = not legacy.isdisjoint(re.findall(r"\w+", "\n".join(cell.lines)))
            if concerns or uses_train(self.text):
                yield not_parsed(error.msg, place, concerns=concerns)

    def _joined(self) -> str:
        lines: list[str] = []
        self._origins: list[tuple[int, int, int]] = []  # for each line: index of the cell, of its line, shift
        for index, part in self._parts:
            if part is not self._parts[0][1]:
                lines.append(self._edge(index))
                self._origins.append((index, 0, 0))
            lines += part.lines
            self._origins += [(index, *place) for place in zip(part.origins, part.shifts, strict=True)]
        return "".join(f"{line}\n" for line in lines)

    def _edge(self, index: int) -> str:
        """The line before a cell."""
        return f"{self._prefix}{self.numbers[index]}__"

    def _names_from_ray(self) -> set[str]:
        """The names that the cells import from Ray."""
        return {"ray"} | {
            alias.asname or alias.name
            for node in ast.walk(ast.parse(self.text))
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "ray"
            for alias in node.names
        }

    def place(self, line: int, column: int) -> Place:
        """The place in the document of a place in the text; lines and columns count from 1."""
        if not self._origins:
            return Place(0, line, column)
        index, origin, shift = self._origins[min(max(line, 1), len(self._origins)) - 1]
        return self.cells[index].place(origin, max(column + shift, 1))

    def split(self, text: str) -> dict[int, list[str]]:
        """Takes a changed text apart.

        Returns:
            The new source lines of each cell that has changed, by the index of the cell.

        Raises:
            NotSplit: If an edge of a cell, or what stood for a magic, is not where it was.
        """
        changed: dict[int, list[str]] = {}
        for (index, part), lines in zip(self._parts, self._at_edges(text), strict=True):
            old = self.cells[index].lines
            new = trimmed(old, self._unmasked(lines, part))
            if new != list(old):
                changed[index] = new
        return changed

    def _at_edges(self, text: str) -> list[list[str]]:
        """The lines of each cell in a changed text."""
        parts: list[list[str]] = [[]]
        edges = [self._edge(index) for index, _ in self._parts[1:]]
        for line in text.removesuffix("\n").split("\n"):
            if len(parts) <= len(edges) and line == edges[len(parts) - 1]:
                parts.append([])
            else:
                parts[-1].append(line)
        strays = re.findall(rf"{self._prefix}\d+__", "\n".join(line for part in parts for line in part))
        if len(parts) <= len(edges) or not set(edges).isdisjoint(strays):
            raise NotSplit("the result does not fall into the same cells")
        return parts if self._parts else []

    def _unmasked(self, lines: list[str], part: Masked) -> list[str]:
        """Puts back what names stand for."""
        found: Counter[str] = Counter()

        def original(match: re.Match[str]) -> str:
            name = match[0] if match[0] in part.originals else match[1]
            found[name] += 1
            return part.originals.get(name, name) + match[0][len(name) :]

        text = re.sub(rf"({self._prefix}mask_\d+__)(?:; )?", original, "\n".join(lines))
        for name, source in part.originals.items():
            if found[name] != 1:
                raise NotSplit(f"`{source.strip()}` has no place in the result")
        return text.split("\n")

    def code(self, text: str) -> list[str]:
        """The lines of Python of this text or a changed one: no blank lines, no edges, no masks of whole lines."""
        return [line for line in text.split("\n") if line.strip() and not line.lstrip().startswith(self._prefix)]


class OfCells:
    """A document whose Python is that of cells, or of regions of a text: as one module."""

    _cells: Cells

    @property
    def text(self) -> str:
        """The Python of all of them."""
        return self._cells.text

    @property
    def numbers(self) -> list[int]:
        """See `Cells.numbers`."""
        return self._cells.numbers

    def number(self, numbers: Iterable[int]) -> None:
        """See `Cells.number`."""
        self._cells.number(numbers)

    def place(self, line: int, column: int) -> Place:
        """The cell, which is 0 in a text, and the line and column there, of a place in the Python."""
        return self._cells.place(line, column)

    def code(self, text: str) -> list[str]:
        """See `Cells.code`."""
        return self._cells.code(text)
