"""RM723: the iterator of a DataLoader has no method `next` any more."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted
from tests.rules.test_to_accelerate import HEAD, LOOP

SCRIPT = """import ray
from torch.utils.data import DataLoader

from job import data

loader = DataLoader(data, batch_size=4)
it = iter(loader)
x, y = {asked}
"""


@pytest.mark.parametrize(
    ("asked", "now"),
    [
        ("it.next()", "next(it)"),
        ("iter(loader).next()", "next(iter(loader))"),
        ("iter(DataLoader(data)).next()", "next(iter(DataLoader(data)))"),
        ("it.next()[:2]", "next(it)[:2]"),
        ("[value.cuda() for value in it.next()]", "[value.cuda() for value in next(it)]"),
    ],
)
def test_it_is_asked_by_the_builtin(asked: str, now: str) -> None:
    outcome = converted(SCRIPT.format(asked=asked))
    assert outcome.text == SCRIPT.format(asked=now)
    assert outcome.findings == [("RM723", Kind.CONVERTED, 8)]


def test_one_that_a_function_gets_or_keeps_is_asked_so_too() -> None:
    script = SCRIPT.format(asked="it.next()").replace(
        "it = iter(loader)\nx, y = it.next()", "def first(it):\n    return it.next()\n\n\nfirst(iter(loader))"
    )
    assert "    return next(it)\n" in converted(script).text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("iter(loader)", "iter(data)"),
        ("iter(loader)", "Prefetcher(loader)"),
        ("iter(loader)", "iter(loader) if data else Prefetcher(loader)"),
        ("it.next()", "it.next(2)"),
        ("it.next()", "it.__next__()"),
        ("it.next()", "next(it)"),
        ("it.next()", "loader.next()"),
        ("\nloader", "\ndef iter(rows):\n    return Rows(rows)\n\n\nloader"),
        ("from torch.utils.data import DataLoader", "from job import DataLoader"),
    ],
)
def test_what_may_be_something_else_is_left_alone(old: str, new: str) -> None:
    script = SCRIPT.format(asked="it.next()")
    assert old in script
    script = script.replace(old, new)
    outcome = converted(script)
    assert (outcome.text, outcome.findings) == (script, [])


def test_in_a_loop_that_goes_to_accelerate_too() -> None:
    text = converted(HEAD + LOOP + "it = iter(test_loader)\nx, y = it.next()\n", to_accelerate=True).text
    assert "x, y = next(it)\n" in text and "accelerator.backward(loss)" in text
