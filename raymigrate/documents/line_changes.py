"""What changes between two versions of the lines of a file, in a time that grows with their number."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from difflib import Match, SequenceMatcher
from functools import cache
from itertools import pairwise
from typing import TypeVar

from raymigrate.base.expressions import lazy_regex
from raymigrate.files.script import lines_of

Line = TypeVar("Line", bound=Hashable)
Range = tuple[int, int, int, int]  # first line and the one after the last, before and after
SMALL = 4_096  # pairs of lines that `SequenceMatcher` may compare as it does
WIDTHS = (2, 4, 8, 16)  # of the groups of lines that tell a place where no line does
LOOKED_AT = 32  # lines on each side of a place among which the one most like a line is looked for
ALIKE = 0.5  # the least part of two lines' words that must be the same
# Parts of names, as `TorchTrainer` is more like `TransformersTrainer` than `prepare_trainer` is.
WORDS = lazy_regex(r"[A-Z]?[a-z]+|[A-Z]+|\d+")


def moved_lines(before: str, after: str) -> Callable[[int], int]:
    """Tells where a line of a text is in a changed text; a line that is gone, where its place is.

    How far lines are indented does not count, as code may have moved into a function. A line that stands once in both
    texts is found wherever it is. Where lines took the place of others, a line is the new one that is most like it.
    """
    old, new = ([line.strip() for line in lines_of(text)] for text in (before, after))
    changes = LineMatcher(old, new).get_opcodes()
    starts = [start for _, start, *_ in changes]
    words_before, words_after = _words_of(old), _words_of(new)
    once = {index: there for index, there in _pairs(old, new, most=1) if old[index]}
    known = sorted(once)
    in_order = {index for kind, start, end, *_ in changes if kind == "equal" for index in range(start, end)}

    def most_like(index: int, near: range) -> int | None:
        likeness = {there: _likeness(words_before(index), words_after(there)) for there in near}
        best = max(near, key=likeness.__getitem__, default=None)
        return best if best is not None and likeness[best] >= ALIKE else None

    def beside(index: int) -> int | None:
        """Where a line is beside the next one that stands once, if that one went elsewhere than those around it."""
        at = bisect_left(known, index)
        nearest = min(known[max(at - 1, 0) : at + 1], key=lambda other: abs(other - index), default=None)
        if nearest is None or nearest in in_order:
            return None
        place = once[nearest] + index - nearest
        near = range(max(0, place - LOOKED_AT), min(len(new), place + LOOKED_AT))
        equal = [there for there in near if new[there] == old[index]]
        return min(equal, key=lambda there: abs(there - place)) if equal else most_like(index, near)

    @cache  # many findings may be on one long line
    def moved(line: int) -> int:
        if line - 1 in once:
            return once[line - 1] + 1
        index = bisect_left(starts, line) - 1  # of several that start on a line the last one holds it
        kind, start, end, new_start, new_end = changes[index]
        if index < 0 or line > end:
            return line
        place = new_start + line - start
        if kind == "equal":
            return place
        found = None
        if kind == "replace":
            near = range(max(new_start, place - LOOKED_AT), min(new_end, place + LOOKED_AT))
            found = most_like(line - 1, near)
        if found is None and old[line - 1]:
            found = beside(line - 1)
        return found + 1 if found is not None else min(place, max(new_end, new_start + 1))

    return moved


def _words_of(lines: Sequence[str]) -> Callable[[int], frozenset[str]]:
    """Gives the words of a line by its index; a line that is asked for again is not read again."""
    return cache(lambda index: frozenset(WORDS.findall(lines[index])))


def _likeness(words: frozenset[str], others: frozenset[str]) -> float:
    """Which part of the words of two lines both have, from 0 to 1."""
    return 2 * len(words & others) / (len(words) + len(others) or 1)


class LineMatcher(SequenceMatcher[Line]):
    """A `SequenceMatcher` for files of any length: that of difflib takes minutes where thousands of lines are alike.

    Lines that stand once in both versions belong together, as in `git diff --patience`; so the rest falls into small
    pieces, which difflib compares. In a large piece without such lines, groups of lines that stand once tell as much.
    Where there are none either, the first of some equal lines belongs to the first in the other version, and so on.

    Args:
        before: The old lines.
        after: The new lines.
    """

    def __init__(self, before: Sequence[Line], after: Sequence[Line]) -> None:
        super().__init__(None, before, after, autojunk=False)
        self._before, self._after = before, after
        self._blocks: list[Match] | None = None

    def get_matching_blocks(self) -> list[Match]:
        """See `SequenceMatcher`, whose other methods rest on this one."""
        if self._blocks is None:
            self._blocks = _joined([*sorted(self._matches()), (len(self._before), len(self._after), 0)])
        return self._blocks

    def _matches(self) -> list[tuple[int, int, int]]:
        """Equal lines: where they start before and after, and how many they are."""
        found: list[tuple[int, int, int]] = []
        open_ranges: list[Range] = [(0, len(self._before), 0, len(self._after))]
        while open_ranges:
            start, stop, new_start, new_stop = self._without_equal_ends(open_ranges.pop(), found)
            old, new = self._before[start:stop], self._after[new_start:new_stop]
            if not old or not new:
                continue
            anchors = _rising(_pairs(old, new, most=1))
            small = len(old) * len(new) <= SMALL
            if not anchors and not small:
                anchors = _anchors_of_groups(old, new)
            if anchors:
                edges = [(-1, -1), *anchors, (len(old), len(new))]
                open_ranges += [
                    (start + i + 1, start + next_i, new_start + j + 1, new_start + next_j)
                    for (i, j), (next_i, next_j) in pairwise(edges)
                ]
                found += [(start + i, new_start + j, 1) for i, j in anchors]
            elif small:
                blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
                found += [(start + i, new_start + j, size) for i, j, size in blocks]
            else:
                found += [(start + i, new_start + j, 1) for i, j in _rising(_pairs(old, new))]
        return found

    def _without_equal_ends(self, lines: Range, found: list[tuple[int, int, int]]) -> Range:
        """The range less the lines that are equal at its start and its end, which are noted."""
        start, stop, new_start, new_stop = lines
        most = min(stop - start, new_stop - new_start)
        head = 0
        while head < most and self._before[start + head] == self._after[new_start + head]:
            head += 1
        tail = 0
        while tail < most - head and self._before[stop - tail - 1] == self._after[new_stop - tail - 1]:
            tail += 1
        found += [(start, new_start, head), (stop - tail, new_stop - tail, tail)]
        return start + head, stop - tail, new_start + head, new_stop - tail


def _anchors_of_groups(old: Sequence[Line], new: Sequence[Line]) -> list[tuple[int, int]]:
    """Where groups of lines start that stand once in both versions; the groups are as small as can be."""
    for width in WIDTHS:
        groups, new_groups = (list(zip(*(lines[n:] for n in range(width)), strict=False)) for lines in (old, new))
        if anchors := _rising(_pairs(groups, new_groups, most=1)):
            return anchors
    return []


def _pairs(old: Sequence[Hashable], new: Sequence[Hashable], most: int | None = None) -> list[tuple[int, int]]:
    """Pairs of equal lines, the first with the first and so on; only those that stand at most so often in each."""
    places: dict[Hashable, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for version, lines in enumerate((old, new)):
        for index, line in enumerate(lines):
            places[line][version].append(index)
    return sorted(
        pair
        for here, there in places.values()
        if most is None or max(len(here), len(there)) <= most
        for pair in zip(here, there, strict=False)
    )


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest sequence of pairs, which are sorted, in which the second numbers rise as well."""
    ends: list[int] = []  # of the sequences of each length, the lowest last number
    links: list[tuple[tuple[int, int], int]] = []  # each pair, and what comes before it in its sequence
    last: list[int] = []  # the link at the end of the sequence of each length
    for pair in pairs:
        length = bisect_left(ends, pair[1])
        if length == len(ends):
            ends.append(0)
            last.append(0)
        ends[length], last[length] = pair[1], len(links)
        links.append((pair, last[length - 1] if length else -1))
    found: list[tuple[int, int]] = []
    link = last[-1] if last else -1
    while link >= 0:
        pair, link = links[link]
        found.append(pair)
    return found[::-1]


def _joined(blocks: list[tuple[int, int, int]]) -> list[Match]:
    """Blocks in their order, as one where they touch; the last one is empty, as `SequenceMatcher` has it."""
    joined: list[Match] = []
    for start, new_start, size in blocks[:-1]:
        if not size:
            continue
        previous = joined[-1] if joined else Match(-1, -1, 0)
        if (previous.a + previous.size, previous.b + previous.size) == (start, new_start):
            joined[-1] = previous._replace(size=previous.size + size)
        else:
            joined.append(Match(start, new_start, size))
    return [*joined, Match(*blocks[-1])]
