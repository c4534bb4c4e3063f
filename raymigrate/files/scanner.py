# ruff: noqa: PTH123 - a Path object per file would cost more than reading the file
"""Searches many files for a few words, as fast as Python can."""

import marshal
import os
import re
import signal
from collections.abc import Sequence

# A second process pays for itself (about 2 ms) from some 500 files on; this leaves a margin for slow starts.
FILES_PER_PROCESS = 1000
# Most files are smaller; larger blocks make malloc fetch fresh pages from the system for every file.
BLOCK = 64 * 1024
# A FIFO that took a file's place since the directory was listed must not block us.
READ_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)

# Files that hold a word; files that cannot be read, and the errno of each.
Scanned = tuple[list[str], list[tuple[str, int]]]


class Words:
    """Finds any of several words in bytes.

    A loop of `word in data` reads the data once per word, and one regular expression is slower still. Ray's words
    share a core (`ray`): one quick search looks for that, and a regular expression only where it was found.

    Args:
        words: The words; quickest if all of them share a substring, right in any case.
    """

    def __init__(self, words: Sequence[bytes]) -> None:
        self._core = _common_core(words)
        parts = (word.partition(self._core) if self._core else (b"", b"", word) for word in words)
        pattern = re.compile(
            b"|".join(b"(?<=%s)%s" % (re.escape(before), re.escape(core + after)) for before, core, after in parts)
        )
        self._at_core, self._anywhere = pattern.match, pattern.search
        self.longest = max(map(len, words))

    def found_in(self, data: bytes) -> bool:
        """Whether the data hold one of the words."""
        core, find, at_core = self._core, data.find, self._at_core
        if not core:
            return self._anywhere(data) is not None
        position = find(core)
        while position >= 0:
            if at_core(data, position):
                return True
            position = find(core, position + 1)
        return False


class Search:
    """Searches files, in several processes where they are many. Used as a context, which ends those processes.

    Args:
        words: What to look for.
        jobs: How many processes may work at a time.
    """

    def __init__(self, words: Words, jobs: int) -> None:
        self._words = words
        self._jobs = jobs if hasattr(os, "fork") else 1
        self._waiting: list[str] = []
        self._children: list[tuple[int, int, list[str]]] = []  # process, pipe that its result comes through, files

    def add(self, paths: Sequence[str]) -> None:
        """Takes files. The first thousand are searched at once, while the caller still looks for more of them."""
        self._waiting += paths
        if len(self._waiting) >= FILES_PER_PROCESS and self._jobs > 1 and not self._children:
            first, self._waiting = self._waiting, []
            self._start(first)

    def result(self) -> Scanned:
        """The files that hold one of the words, in no particular order, and those that cannot be read."""
        processes = max(1, min(self._jobs, len(self._waiting) // FILES_PER_PROCESS))
        self._waiting, *others = (self._waiting[start::processes] for start in range(processes))
        for share in others:
            self._start(share)
        hits, failures = _scan(self._waiting, self._words)
        for _, pipe, share in self._children:
            more_hits, more_failures = _read_result(pipe) or _scan(share, self._words)
            hits += more_hits
            failures += more_failures
        return hits, failures

    def _start(self, paths: list[str]) -> None:
        try:
            process, pipe = _fork(paths, self._words)
        except OSError:  # no further process is to be had
            self._waiting += paths
            self._jobs = 1
            return
        self._children.append((process, pipe, paths))

    def __enter__(self) -> "Search":
        return self

    def __exit__(self, *exception: object) -> None:
        for process, pipe, _ in self._children:
            os.close(pipe)
            os.kill(process, signal.SIGKILL)  # it is done, unless we were interrupted
            os.waitpid(process, 0)


def _scan(paths: Sequence[str], words: Words) -> Scanned:
    hits: list[str] = []
    failures: list[tuple[str, int]] = []
    open_file, read, close, found_in, add = os.open, os.read, os.close, words.found_in, hits.append
    for path in paths:
        try:
            descriptor = open_file(path, READ_FLAGS)
            try:
                data = read(descriptor, BLOCK)
                # Only the end of a regular file gives less than what was asked for.
                if found_in(data) or (len(data) == BLOCK and _found_in_rest(descriptor, data, words)):
                    add(path)
            finally:
                close(descriptor)
        except OSError as error:
            failures.append((path, error.errno or 0))
    return hits, failures


def _found_in_rest(descriptor: int, data: bytes, words: Words) -> bool:
    """Goes on after the first block; a word may lie across the edge of two blocks."""
    while block := os.read(descriptor, BLOCK):
        data = data[-words.longest :] + block
        if words.found_in(data):
            return True
    return False


def _fork(paths: Sequence[str], words: Words) -> tuple[int, int]:
    """Starts a process that scans; gives its id and the pipe that its result comes through."""
    reading, writing = os.pipe()
    try:
        process = os.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        raise
    if process:
        os.close(writing)
        return process, reading
    try:
        with open(writing, "wb") as pipe:
            pipe.write(marshal.dumps(_scan(paths, words)))
    finally:
        os._exit(0)  # never run the parent's cleanup; a result that is missing tells it that something went wrong


def _read_result(pipe: int) -> Scanned | None:
    """The result of a child, or None if it died before it was done."""
    with open(pipe, "rb", closefd=False) as stream:
        data = stream.read()
    try:
        result: Scanned = marshal.loads(data)
    except (EOFError, ValueError, TypeError):
        return None
    return result


def _common_core(words: Sequence[bytes]) -> bytes:
    """The longest substring that all words share; empty if there is none."""
    first = min(words, key=len)
    substrings = (
        first[start : start + size] for size in range(len(first), 0, -1) for start in range(len(first) - size + 1)
    )
    return next((core for core in substrings if all(core in word for word in words)), b"")
