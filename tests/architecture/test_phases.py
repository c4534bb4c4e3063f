"""The order of codemods that share a place is nobody's business: whatever it is, the fixtures come out the same."""

import inspect
import random
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

import pytest

from raymigrate import codemods
from raymigrate.codemods import Codemod, all_codemods, codemod
from raymigrate.codemods.phases import Phase
from scripts.update_twins import converted, options_of, told
from tests.conftest import DOCUMENTS, todays
from tests.test_twins import read, twin_of


def test_a_place_is_named_and_not_numbered() -> None:
    assert inspect.signature(codemod).parameters.keys() == {"words", "phase", "after", "option", "in_ray_scripts"}
    assert all(isinstance(item.phase, Phase) for item in all_codemods())


def test_those_that_wait_for_others_come_after_them() -> None:
    order = all_codemods()
    for place, item in enumerate(order):
        assert all(order.index(other) < place for other in item.after)
        assert all(other.phase is item.phase for other in item.after)


def shuffled(items: list[Codemod]) -> list[Codemod]:
    return random.Random(7).sample(items, len(items))


@pytest.mark.parametrize(
    ("mixed", "later"), [(lambda items: items[::-1], 0), (shuffled, 1)], ids=["reversed", "shuffled"]
)
def test_within_a_place_any_order_will_do(
    mixed: Callable[[list[Codemod]], list[Codemod]],
    later: int,
    monkeypatch: pytest.MonkeyPatch,
    pytestconfig: pytest.Config,
) -> None:
    places = [list(items) for _, items in groupby(all_codemods(), key=lambda item: item.place)]
    order = [item for items in places for item in mixed(items)]
    assert order != all_codemods()
    monkeypatch.setattr(codemods, "_contents", lambda left_out: ([], order))
    assert differing(todays(DOCUMENTS, 3, pytestconfig, later=later)) == []


def differing(documents: Sequence[Path]) -> list[str]:
    found = []
    for document in documents:
        after, result = converted(document, options_of(document))
        expected = twin_of(document).read_bytes(), read(document.with_name("findings.txt"))
        if (after, told(result.findings)) != expected:
            found.append(str(document.parent))
    return found
