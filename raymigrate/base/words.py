"""Words of messages."""

from collections.abc import Iterable

FEW = 3  # things that a sentence has room for


def listed(parts: Iterable[str]) -> str:
    """Parts in a sentence: `a, b and c`."""
    *most, last = [*parts] or [""]
    return f"{', '.join(most)} and {last}" if most else last


def few(parts: Iterable[str]) -> str:
    """The first of some parts, each once, and how many there are besides: `a, b, c and 2 more`."""
    found = [*dict.fromkeys(parts)]
    return listed([*found[:FEW], *([f"{len(found) - FEW} more"] if len(found) > FEW else [])])


def one_line(text: str) -> str:
    """A text as it may be in any line of output: what is not printable is escaped, as in `repr`.

    So no name of a file or folder, and no text of a script, can begin a line of its own or command a terminal.
    """
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)
