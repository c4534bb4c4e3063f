"""Words of messages."""

from collections.abc import Iterable

FEW = 3  # things that a sentence has room for


def listed(parts: Iterable[str]) -> str:
    """Parts in a sentence: `a, b and c`."""
    *most, last = [*parts] or [""]
    return f"{', '.join(most)} and {last}" if most else last
