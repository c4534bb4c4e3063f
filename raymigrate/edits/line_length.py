"""How long the lines of a file may be."""

import re
from functools import lru_cache

LIMITS = (88, 100, 120)  # Black's own, and what people set it to
BRACKETS = ("()", "[]", "{}")
FOLLOWED = re.compile(r"\s*(?:,\s*[^\s#]|\.\w+\((?!\)))")  # by another argument, or by a call in the same chain
TOLERATED = 0.02  # part of the lines that may be longer: a link, a prompt


@lru_cache(maxsize=4)
def line_length(text: str) -> int:
    """The line length that a file keeps to, by its longest lines.

    Args:
        text: The file; comments at its ends of lines count, since formatters leave those alone too.
    """
    lengths = [len(line.partition("#")[0].rstrip()) for line in text.splitlines()]
    for limit in LIMITS:
        if sum(length > limit for length in lengths) <= TOLERATED * len(lengths):
            return limit
    return LIMITS[-1]


def outgrows(line: str, start: int, end: int, code: str) -> bool:
    """Whether new code of an expression is too long for its line, where that is the one to break there.

    Args:
        line: The line.
        start: Where the expression starts in it.
        end: Where it ends.
        code: The new code.
    """
    before, behind = line[:start], line[end:]
    is_inner = any(before.count(opening) > before.count(closing) for opening, closing in BRACKETS)
    if is_inner or FOLLOWED.match(behind) or "\n" in code:
        return False
    return len(line) <= LIMITS[-1] < len(before) + len(code) + len(behind)
