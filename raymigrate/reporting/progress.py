"""How far a long run is, on a terminal."""

import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")

PATIENCE = 1.0  # seconds that a run may take before it says how far it is
INTERVAL = 0.1  # seconds between two signs of life
CLEAR_LINE = "\r\x1b[K"


def with_progress(items: Iterable[Item], total: int) -> Iterator[Item]:
    """Passes items on, and tells on a terminal how many there were: in one line of stderr that is removed at the end.

    Nothing is written in the first second, nor into pipes and logs.
    """
    if not sys.stderr.isatty():
        yield from items
        return
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
