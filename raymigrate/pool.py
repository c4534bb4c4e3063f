"""Runs a function over items in processes, so that one that brings its process down costs one item only."""

import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

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
        with ProcessPoolExecutor(jobs, initializer=_ignore_interrupts) as pool:
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
    with ProcessPoolExecutor(1, initializer=_ignore_interrupts) as pool:
        try:
            return pool.submit(function, item).result()
        except BrokenProcessPool:
            return lost(item)


def _ignore_interrupts() -> None:
    """Ctrl-C reaches all processes of a terminal: those of the pool finish their item, and the first one ends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
