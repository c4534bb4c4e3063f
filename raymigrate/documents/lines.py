"""Lines of source with their ends, and what changes between two versions of them."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from raymigrate.base.expressions import lazy_regex
from raymigrate.documents.line_changes import LineMatcher

# The ends that Python knows; form feeds and other separators belong to their line.
LINE = lazy_regex(r"([^\r\n]*)(\r\n|\r|\n)|([^\r\n]+)\Z")


class Line(NamedTuple):
    """One line and how it ends; the last line of a text may have no end."""

    text: str
    end: str


class Places:
    """Where the characters of a text are; asked of many, as to count the lines before each takes ever longer.

    Args:
        text: The text; its lines end in "\\n".
    """

    def __init__(self, text: str) -> None:
        self._starts = [0, *(end.end() for end in re.finditer("\n", text))]

    def place(self, start: int) -> tuple[int, int]:
        """The line and column of a character, from one."""
        line = bisect_right(self._starts, start)
        return line, start - self._starts[line - 1] + 1


def split_lines(text: str) -> list[Line]:
    """The lines of a text; joined again they give the text."""
    return [Line(match[1] or match[3] or "", match[2] or "") for match in LINE.finditer(text)]


def spliced(old: Sequence[Line], new: Sequence[str]) -> list[tuple[int | None, Line]]:
    """Takes new lines over into old ones, each with the line end in use there.

    Args:
        old: The lines as they are.
        new: The lines as they are to be, without ends.

    Returns:
        Each new line with its end, and the index of the old line that it is, if it is one. The last line ends as the
        last one did.
    """
    end = usual_end(old)
    result: list[tuple[int | None, Line]] = []
    matcher = LineMatcher([line.text for line in old], list(new))
    for tag, start, stop, new_start, new_stop in matcher.get_opcodes():
        if tag == "equal":
            result += [(index, old[index]) for index in range(start, stop)]
        else:
            result += [(None, Line(text, end)) for text in new[new_start:new_stop]]
    for position, (index, line) in enumerate(result):
        last = position == len(result) - 1
        wanted = old[-1].end if last and old else line.end or end
        if line.end != wanted:
            result[position] = (index, Line(line.text, wanted))
    return result


def usual_end(lines: Sequence[Line]) -> str:
    """The line end that most lines have."""
    ends = Counter(line.end for line in lines if line.end)
    return ends.most_common(1)[0][0] if ends else "\n"


def trimmed(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """New lines of a cell with as many blank lines at its head and end as it had.

    Definitions are set off by blank lines in a module; at the edge of a cell there is nothing to set them off from.
    """
    head, end = _blank(old), _blank(old[::-1])
    body = list(new[_blank(new) : len(new) - _blank(new[::-1])])
    if not body or head == len(old):
        return [*old[: min(head, len(old))], *body]
    return [*old[:head], *body, *old[len(old) - end :]]


def _blank(lines: Sequence[str]) -> int:
    """The number of blank lines that come first."""
    return next((index for index, line in enumerate(lines) if line.strip()), len(lines))
