"""What depends on the terminal: colour, and the progress of a long run."""

import os
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")

COLOUR_CHOICES = ("auto", "always", "never")
PATIENCE = 1.0  # seconds that a run may take before it says how far it is
INTERVAL = 0.1  # seconds between two signs of life
CLEAR_LINE = "\r\x1b[K"


def use_colour(choice: str) -> bool | None:
    """Whether to print in colour; None leaves it to click, which asks each stream whether it is a terminal.

    The option beats the variables NO_COLOR (https://no-color.org) and FORCE_COLOR (https://force-color.org), and the
    first of these the second.
    """
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return True if os.environ.get("FORCE_COLOR") else None


def with_progress(items: Iterable[Item], total: int) -> Iterator[Item]:
    """Passes items on, and tells on a terminal how many there were: in one line of stderr that is removed at the end.

    Nothing is written in the first second, nor into pipes and logs.
    """
    if not sys.stderr.isatty():
        yield from items
        return
    import shutil  # noqa: PLC0415 - this module is imported on every run

    next_sign = time.monotonic() + PATIENCE
    shown = False
    try:
        for done, item in enumerate(items, 1):
            if time.monotonic() >= next_sign:
                width = shutil.get_terminal_size().columns - 1
                sys.stderr.write(CLEAR_LINE + f"{done} of {total} files"[:width])
                sys.stderr.flush()
                shown, next_sign = True, time.monotonic() + INTERVAL
            yield item
    finally:
        if shown:
            sys.stderr.write(CLEAR_LINE)
            sys.stderr.flush()
