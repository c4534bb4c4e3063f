"""What somebody may have meant by a word."""

from collections.abc import Iterable


def closest(word: str, known: Iterable[str]) -> str:
    """The one of some words that is most like another; empty if none is like it."""
    from difflib import get_close_matches  # noqa: PLC0415 - every run would import it, and only an error needs it

    return next(iter(get_close_matches(word, list(known), 1)), "")
