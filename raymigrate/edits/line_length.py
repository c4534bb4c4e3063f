"""How long the lines of a file may be."""

from functools import lru_cache

LIMITS = (88, 100, 120)  # Black's own, and what people set it to
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
