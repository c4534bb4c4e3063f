"""The source of a notebook's cell: its lines as text, and each as it is written in the JSON of the file."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate

from raymigrate.base.expressions import lazy_regex
from raymigrate.documents.json_spans import Span, elements
from raymigrate.documents.lines import Line

NEWLINE = r"(?:\\r|\\u000[dD])(?:\\n|\\u000[aA])|\\[nr]|\\u000[aAdD]"
RAW_LINE = lazy_regex(rf"((?:[^\\]|\\u(?!000[aAdD])[0-9a-fA-F]{{4}}|\\[^nru])*)(?:({NEWLINE})|\Z)", re.DOTALL)
CHARACTER = lazy_regex(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.|.", re.DOTALL)  # as it is written in JSON


@dataclass(frozen=True)
class RawLine:
    """One source line: as text, and as it is written in JSON."""

    line: Line
    raw: str


@dataclass(frozen=True)
class Source:
    """The source of one code cell.

    Args:
        span: Where its value is in the file.
        parts: The lines in each string of the value.
        gaps: What stands around the strings of a list; empty for a single string.
        whole_lines: Whether each string holds whole lines, so that `parts` are the strings of the file.
    """

    span: Span
    parts: tuple[tuple[RawLine, ...], ...]
    gaps: tuple[str, ...]
    whole_lines: bool = True

    @cached_property
    def lines(self) -> list[RawLine]:
        """All lines."""
        return [line for part in self.parts for line in part]

    @cached_property
    def texts(self) -> list[str]:
        """The text of each line."""
        return [raw.line.text for raw in self.lines]

    @cached_property
    def _starts(self) -> list[int]:
        """Where in the file each line starts."""
        starts: list[int] = []
        position = self.span[0]
        for part, gap in zip(self.parts, self.gaps or ("",), strict=False):
            position += len(gap) + (2 if self.gaps else 1)  # a bracket, or the quotation mark of the string before
            for raw in part:
                starts.append(position)
                position += len(raw.raw)
        return starts

    def position(self, line: int, column: int) -> int:
        """Where in the file a character of the source stands; line and column count from 1."""
        if not self.whole_lines or line > len(self._starts):
            return self.span[0]
        offsets = _offsets(self.lines[line - 1].raw)
        return self._starts[line - 1] + offsets[min(column, len(offsets)) - 1]

    def written(self, lines: Sequence[str]) -> str:
        """The value with new lines, in the form that it has: a string, a list of lines, or a list of one string."""
        if not self.gaps:
            return f'"{"".join(lines)}"'
        if not lines:
            return "[]"
        strings = lines if len(self.parts) != 1 or len(self.parts[0]) == 1 else ["".join(lines)]
        between = self.gaps[1] if len(self.gaps) > 2 else f",{self.gaps[0]}"
        return f"[{self.gaps[0]}{between.join(f'{chr(34)}{string}{chr(34)}' for string in strings)}{self.gaps[-1]}]"


def source_at(text: str, span: Span) -> Source:
    """The source whose value stands there in a file."""
    start, end = span
    if text[start] == '"':
        return Source(span, (_raw_lines(text[start + 1 : end - 1]),), ())
    strings = elements(text, start)
    edges = [start + 1, *(edge for string in strings for edge in string), end - 1]
    gaps = tuple(text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True))
    raw = [text[a + 1 : b - 1] for a, b in strings]
    parts = tuple(_raw_lines(string) for string in raw)
    if all(part and part[-1].line.end for part in parts[:-1]):
        return Source(span, parts, gaps)
    # Strings that do not end where lines end: such a list is written with one line each, if the cell changes.
    return Source(span, tuple((line,) for line in _raw_lines("".join(raw))), gaps, whole_lines=False)


@lru_cache(maxsize=8)
def _offsets(raw: str) -> list[int]:
    """Where each character of a line starts in what is written in JSON, and where the line ends."""
    return list(accumulate(map(len, CHARACTER.findall(raw)), initial=0))


def _raw_lines(raw: str) -> tuple[RawLine, ...]:
    """The lines of the inside of a JSON string."""
    lines = []
    for match in RAW_LINE.finditer(raw):
        if match[0]:
            text, end = json.loads(f'"{match[1]}"'), json.loads(f'"{match[2] or ""}"')
            lines.append(RawLine(Line(text, end), match[0]))
    return tuple(lines)
