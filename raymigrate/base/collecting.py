"""The garbage collector, while much is made that stays."""

import contextlib
import gc
from collections.abc import Iterator

UNSEARCHED = 80_000  # bytes of source; what is made of them takes some 15 MB

_made_of = 0  # bytes of source that were worked on since garbage was last looked for


@contextlib.contextmanager
def no_search_for_cycles(size: int = 0) -> Iterator[None]:
    """Keeps the collector from looking through a growing tree again and again, in which nothing is garbage yet.

    What was made is set aside afterwards, and looked through once enough of it has come together: a run over one file
    never has to.

    Args:
        size: Bytes of source of which the tree is made.
    """
    global _made_of  # noqa: PLW0603 - of the process, as the collector is
    collecting = gc.isenabled()
    if collecting and _made_of > UNSEARCHED:
        gc.unfreeze()
        gc.collect()
        _made_of = 0
    gc.disable()
    try:
        yield
    finally:
        _made_of += size
        if collecting:
            gc.freeze()
            gc.enable()
