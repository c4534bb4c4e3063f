"""The lines of a code block that a page highlights by their numbers: the numbers move with the lines.

Sphinx and MyST have an option for it, `:emphasize-lines: 3, 5-7`
(https://www.sphinx-doc.org/en/master/usage/restructuredtext/directives.html#directive-option-code-block-emphasize-lines);
mkdocs and others write it after the language: `hl_lines="3 5-7"`
(https://facelessuser.github.io/pymdown-extensions/extensions/superfences/#highlighting-lines), Docusaurus `{3,5-7}`
(https://docusaurus.io/docs/markdown-features/code-blocks#highlighting-with-metadata-string). All count from the first
line of the block, whatever number that is shown with.
"""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import NamedTuple

from raymigrate.base.expressions import lazy_regex

NAMES = r"(?:emphasize[-_]lines|highlight[-_]lines|hl[-_]lines|lines|code-line-numbers|data-line)"
LISTS = (
    # An option on a line of its own, in MyST also as YAML; the list may go on in the next line.
    lazy_regex(rf"\n[ \t>]*:?{NAMES}:(?P<list>[ \t]*[\"'\[]?[\d \t,-]+(?:\n[ \t>]*[\d \t,-]+)*[\"'\]]?)(?=\n|$)"),
    lazy_regex(rf"[ \t]*\b{NAMES}[ \t]*=[ \t]*(?P<quote>[\"'])(?P<list>[\d \t,-]+)(?P=quote)"),
    lazy_regex(rf"[ \t]*\b{NAMES}[ \t]*=[ \t]*(?P<list>\[[\d \t,\"'-]+\])"),
    lazy_regex(r"[ \t]*\{(?P<list>[\d \t,-]+)\}"),
)
ITEM = lazy_regex(
    r"(?P<quote>[\"']?)"  # of a range in brackets: [2,"4-6"]
    r"(?:(?P<first>\d+)(?P<to>[ \t]*-[ \t]*)(?P<last>\d*)|(?P<until>-[ \t]*)(?P<end>\d+)|(?P<only>\d+))(?P=quote)"
)


class _Change(NamedTuple):
    """Lines that are gone, and those that came in their place, as indices."""

    gone: range
    come: range


class MovedLines:
    """Where the lines of a block are in the changed block.

    Args:
        old: The lines as they were.
        new: The lines as they are.
        origins: Of each new line, the index of the old one that it is; None where it is none.
    """

    def __init__(self, old: Sequence[str], new: Sequence[str], origins: Sequence[int | None]) -> None:
        self._old, self._new = old, new
        self._kept = {origin: index for index, origin in enumerate(origins) if origin is not None}
        kept = [(-1, -1), *self._kept.items(), (len(old), len(new))]
        self._changes = [
            _Change(range(start + 1, stop), range(new_start + 1, new_stop))
            for (start, new_start), (stop, new_stop) in pairwise(kept)
        ]

    def moved(self, first: int, last: int) -> tuple[int, int] | None:
        """Where the lines from one to another are, first and last; None if they are gone. Lines count from one."""
        there = [new for old, new in self._kept.items() if first <= old + 1 <= last]
        for gone, come in self._changes:
            asked = [line for line in gone if first <= line + 1 <= last]
            if asked and len(asked) == len(gone):
                there += come
            elif len(gone) == len(come):
                there += [come[line - gone.start] for line in asked]
            else:
                there += [index for line in asked for index in self._most_like(line, come)]
        return (min(there) + 1, max(there) + 1) if there else None

    def _most_like(self, line: int, there: range) -> Sequence[int]:
        """The line that an old one has become; all of them where it is like none."""
        lines = [self._new[index] for index in there]
        like = get_close_matches(self._old[line], lines, n=1)
        return [there[lines.index(like[0])]] if like else there

    @property
    def count(self) -> int:
        """How many lines there were."""
        return len(self._old)


def renumbered(head: str, lines: MovedLines) -> str:
    """What stands before a block, with the numbers of the lines that it highlights.

    Args:
        head: The line that opens the block, and those of its options.
        lines: The lines of the block.
    """

    def moved(found: re.Match[str]) -> str:
        start, end = found.start("list") - found.start(), found.end("list") - found.start()
        numbers = _moved_list(found["list"], lines)
        return "" if numbers is None else found[0][:start] + numbers + found[0][end:]

    for pattern in LISTS:
        head = pattern.sub(moved, head)
    return head


def _moved_list(numbers: str, lines: MovedLines) -> str | None:
    """A list of numbers and ranges with those of the changed block; None where all these lines are gone."""
    items = list(ITEM.finditer(numbers))
    separators = [numbers[item.end() : following.start()] for item, following in pairwise(items)]
    found = [
        (separator, new)
        for separator, item in zip(["", *separators], items, strict=False)
        if (new := _moved_item(item, lines, in_brackets=numbers.startswith("["))) is not None
    ]
    if not found:
        return None
    text = found[0][1] + "".join(separator + new for separator, new in found[1:])
    return numbers[: items[0].start()] + text + numbers[items[-1].end() :]


def _moved_item(item: re.Match[str], lines: MovedLines, *, in_brackets: bool) -> str | None:
    """A number or a range; one that is open at one side stays so."""
    first = int(item["first"] or item["only"] or 1)
    last = int(item["last"] or item["end"] or item["only"] or lines.count)
    if last > lines.count:
        return item[0]  # no lines of this block
    there = lines.moved(first, last)
    if there is None:
        return None
    start, stop = map(str, there)
    if item["until"]:
        new = item["until"] + stop
    elif item["first"] and not item["last"]:
        new = start + item["to"]
    else:
        new = start if start == stop else f"{start}{item['to'] or '-'}{stop}"
    quote = item["quote"] or '"' * (in_brackets and "-" in new)
    return f"{quote}{new}{quote}"
