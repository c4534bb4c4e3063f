"""The garbage collector, while much is made that stays."""

import contextlib
import gc
from collections.abc import Iterator

LARGE = 80_000  # bytes of source; what is made of them takes some 15 MB

_set_aside = 0  # bytes of source of the files whose trees the collector does not look at


@contextlib.contextmanager
def no_search_for_cycles(size: int = 0) -> Iterator[None]:
    """Keeps the collector from looking through a growing tree again and again, in which nothing is garbage yet.

    What is made of a small file is left to the collector afterwards, which then looks through that alone. What is made
    of a large file is set aside until the next file comes: a run over one file never has to look through it.

    Args:
        size: Bytes of source of which the tree is made.
    """
    global _set_aside  # noqa: PLW0603 - of the process, as the collector is
    collecting = gc.isenabled()
    if collecting and _set_aside:
        gc.unfreeze()
        gc.collect()
        _set_aside = 0
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            if size > LARGE:
                _set_aside += size
                gc.freeze()
            gc.enable()
