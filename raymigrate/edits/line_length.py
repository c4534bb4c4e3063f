"""How long the lines of a file may be."""

from collections.abc import Callable, Sequence
from functools import lru_cache

from raymigrate.base.expressions import lazy_regex

LIMITS = (88, 100, 120)  # Black's own, and what people set it to
BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"))
FOLLOWED = lazy_regex(r"\s*(?:,\s*[^\s#]|\.\w+\((?!\)))")  # by another argument, or by a call in the same chain
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


def outgrows(lines: Sequence[str], start: int, end: int, written: Callable[[], str]) -> bool:
    """Whether new code of an expression is too long for one line, where that is the expression to break there.

    Args:
        lines: The lines that it is on.
        start: Where it starts in the first of them.
        end: Where it ends in the last.
        written: Writes its new code out, which takes long, and is mostly not needed.
    """
    before, behind = lines[0][:start], lines[-1][end:]
    is_inner = any(before.count(opening) > before.count(closing) for opening, closing in BRACKETS)
    if is_inner or FOLLOWED.match(behind):
        return False
    code = written()
    return "\n" not in code and len(before) + len(code) + len(behind) > max(LIMITS[-1], *map(len, lines))
