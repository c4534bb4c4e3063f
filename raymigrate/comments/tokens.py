"""Comments of a module, and the logical lines that they stand at."""

import io
import tokenize
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

NOT_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


@dataclass(frozen=True)
class LogicalLine:
    """A simple statement, or the head of a compound one: what Python reads as one line.

    Args:
        first: Its first line, counted from 1.
        last: Its last line.
    """

    first: int
    last: int


@dataclass(frozen=True)
class Comment:
    """A comment.

    Args:
        text: From the `#` on.
        line: Its line, counted from 1.
        column: Its column in characters, counted from 1.
        alone: Whether nothing else is on the line.
    """

    text: str
    line: int
    column: int
    alone: bool


def read_comments(text: str) -> tuple[list[Comment], list[LogicalLine]]:
    """The comments and logical lines of a module, in order; those before an error if it is not Python."""
    comments: list[Comment] = []
    lines: list[LogicalLine] = []
    first = 0
    for token in _tokens(text):
        if token.type == tokenize.COMMENT:
            line, offset = token.start
            comments.append(Comment(token.string, line, offset + 1, not token.line[:offset].strip()))
        elif token.type == tokenize.NEWLINE:
            lines.append(LogicalLine(first, token.start[0]))
            first = 0
        elif token.type not in NOT_CODE and not first:
            first = token.start[0]
    return comments, lines


def logical_line_from(lines: Sequence[LogicalLine], line: int) -> LogicalLine | None:
    """The logical line that holds a line, or else the next one; None after the last."""
    index = bisect_left(lines, line, key=attrgetter("last"))
    return lines[index] if index < len(lines) else None


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    try:
        yield from tokenize.generate_tokens(io.StringIO(text).readline)
    except (tokenize.TokenError, SyntaxError):
        return
