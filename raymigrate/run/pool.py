"""Runs a function over items in processes, so that one that brings its process down costs one item only."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from raymigrate.base.isolation import forget_parent

Item = TypeVar("Item")
Result = TypeVar("Result")


def isolated_map(
    function: Callable[[Item], Result], items: Sequence[Item], jobs: int, *, lost: Callable[[Item], Result]
) -> Iterator[Result]:
    """Yields a result for each item, in order.

    Args:
        function: What to run; it and the items have to be picklable.
        items: What to run it on.
        jobs: Number of processes.
        lost: Makes the result of an item whose process died.
    """
    done = 0
    while done < len(items):
        rest = items[done:]
        with ProcessPoolExecutor(jobs, initializer=_begin) as pool:
            try:
                for result in pool.map(function, rest):
                    done += 1
                    yield result
                return
            except BrokenProcessPool:
                pass
        # Some item of the rest killed a process: the next one alone tells whether it was that one.
        yield _alone(function, items[done], lost)
        done += 1


def _alone(function: Callable[[Item], Result], item: Item, lost: Callable[[Item], Result]) -> Result:
    with ProcessPoolExecutor(1, initializer=_begin) as pool:
        try:
            return pool.submit(function, item).result()
        except BrokenProcessPool:
            return lost(item)


def _begin() -> None:
    """What a process of the pool does first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all: they end with their parent
    forget_parent()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Ends this process when its parent is gone, which else would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
