"""The garbage collector, while much is made that stays."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def no_search_for_cycles() -> Iterator[None]:
    """Keeps the collector from looking through a growing tree again and again, in which nothing is garbage yet."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
