"""Changes between versions of a file, as difflib tells them, in files of any length."""

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raymigrate.documents import line_changes
from raymigrate.documents.line_changes import LineMatcher, moved_lines

LINES = st.lists(st.sampled_from(["", "a", "b", "c", "d", "def f():", "    return 1", "}"]), max_size=40)


def rebuilt(before: list[str], after: list[str]) -> list[str]:
    """The new lines, from the old ones and the changes."""
    result: list[str] = []
    position = 0
    for tag, start, stop, new_start, new_stop in LineMatcher(before, after).get_opcodes():
        assert start == position
        position = stop
        result += before[start:stop] if tag == "equal" else after[new_start:new_stop]
        assert len(result) == new_stop
    assert position == len(before)
    return result


@pytest.mark.parametrize("small", [0, line_changes.SMALL])
@given(before=LINES, after=LINES)
@settings(max_examples=200, deadline=None)
def test_the_changes_make_the_new_lines_of_the_old_ones(small: int, before: list[str], after: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_changes, "SMALL", small)
        assert rebuilt(before, after) == after


@given(LINES, st.integers(0, 40), st.integers(0, 5), LINES.map(lambda lines: lines[:3]))
@settings(max_examples=200, deadline=None)
def test_nothing_changes_beside_a_change(before: list[str], at: int, gone: int, new: list[str]) -> None:
    after = [*before[:at], *new, *before[at + gone :]]
    changes = [change for change in LineMatcher(before, after).get_opcodes() if change[0] != "equal"]
    assert sum(stop - start for _, start, stop, *_ in changes) <= gone
    assert sum(stop - start for *_, start, stop in changes) <= len(new)


@pytest.mark.parametrize(
    ("before", "after", "places"),
    [
        ("a\nb\nc\n", "a\nb\nc\n", [1, 2, 3]),
        ("a\nb\nc\n", "new\na\nb\nc\n", [2, 3, 4]),
        ("a\nb\nc\n", "b\nc\n", [1, 1, 2]),
        ("a\nb\nc\n", "a\nnew\nother\nc\n", [1, 2, 4]),
        ("a\nb\nc\nd\n", "a\nnew\nd\n", [1, 2, 2, 3]),
        ("a\r\nb\r\n", "a\nnew\nb\n", [1, 3]),
        ("a\x0cb\nc\n", "a\x0cb\nnew\nc\n", [1, 3]),  # a form feed ends no line of Python
    ],
)
def test_lines_are_found_again(before: str, after: str, places: list[int]) -> None:
    moved = moved_lines(before, after)
    assert [moved(line) for line in range(1, len(places) + 1)] == places
    assert moved(1000) == 1000


RANDOM = random.Random(1)


@pytest.mark.parametrize(
    ("middle", "most"),
    [
        (["x = 1"] * 20_000, 3),
        (["", "x = 1"] * 10_000, 20_000),  # nothing there tells the place of the line that goes
        ([f"x = {RANDOM.randrange(30)}" for _ in range(20_000)], 3),
        ([f"x = {number}" for number in range(20_000)], 3),
    ],
    ids=["alike", "in turns", "of 30 kinds", "all different"],
)
def test_a_long_file_takes_no_time(middle: list[str], most: int) -> None:
    before = ["import old", *middle, "old()"]
    after = ["import new", "import more", *middle[:7_000], *middle[7_001:], "new()"]
    start = time.process_time()
    changes = LineMatcher(before, after).get_opcodes()
    assert time.process_time() - start < 5  # difflib: minutes
    assert sum(stop - start for tag, start, stop, *_ in changes if tag != "equal") <= most


BEFORE = "a = 1\nfor x in rows:\n    use(x)\n\ndef f():\n    return a\n"


@pytest.mark.parametrize(
    ("after", "line", "there"),
    [
        (BEFORE, 3, 3),
        (f"new\n{BEFORE}", 3, 4),
        (
            "def f():\n    return a\n\ndef g():\n    a = 1\n    for x in rows:\n        use(x)\n",
            2,
            6,
        ),  # moved, indented
        ("def f():\n    return a\n\ndef g():\n    a = 1\n    for x in rows:\n        use(x)\n", 5, 1),
        ("def f():\n    return a\n\ndef g():\n    a = 1\n    for x in tqdm(rows):\n        use(x)\n", 2, 6),  # changed
        ("def f():\n    return a\n", 1, 1),  # gone
    ],
)
def test_a_line_is_found_again(after: str, line: int, there: int) -> None:
    assert moved_lines(BEFORE, after)(line) == there


def test_of_equal_lines_the_one_beside_its_neighbour_is_meant() -> None:
    before = "step()\none()\n\nstep()\ntwo()\n"
    after = "def f():\n    step()\n    two()\n\n    step()\n    one()\n"
    moved = moved_lines(before, after)
    assert (moved(2), moved(5)) == (6, 3)
