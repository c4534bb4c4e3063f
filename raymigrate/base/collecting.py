"""The garbage collector, while much is made that stays."""

import contextlib
import gc
from collections.abc import Iterator

YOUNG = 1  # the generations of objects up to this one hold the tree of the file before, and little else
LARGE = 80_000  # bytes of source; what is made of them takes some 15 MB
_is_aside = False  # whether the tree of the last file is set aside here, and not by the process itself


@contextlib.contextmanager
def no_search_for_cycles(size: int = 0) -> Iterator[None]:
    """Keeps the collector from looking through a growing tree again and again, in which nothing is garbage yet.

    What is made of a small file is left to the collector, which looks through that alone when the next file comes: by
    itself it would come while much of it is in use, and keep that until it looks through all. What is made of a large
    file is set aside until the next file comes: a run over one file never has to look through it. What the process has
    set aside by itself, as before it forks, stays so: Python keeps one heap for both, and could not part them again.

    Args:
        size: Bytes of source of which the tree is made.
    """
    global _is_aside  # noqa: PLW0603 - the heap that is set aside is one of the process, too
    collecting = gc.isenabled()
    if collecting and _is_aside:
        _is_aside = False
        gc.unfreeze()
        gc.collect()
    elif collecting:
        gc.collect(YOUNG)
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            if size > LARGE and not gc.get_freeze_count():
                gc.freeze()
                _is_aside = True
            gc.enable()
