"""A short run with a fixed seed. For a long one, and to make a failed case again: `python -m tests.fuzz --help`."""

from pathlib import Path

import pytest

from tests.fuzz.cases import made
from tests.fuzz.checks import check


@pytest.mark.parametrize("number", range(40))
def test_damaged_input_damages_nothing(tmp_path: Path, number: int) -> None:
    check(made(20261122, number, small=True), tmp_path)


def test_the_same_number_gives_the_same_case() -> None:
    assert [made(5, number) for number in range(20)] == [made(5, number) for number in range(20)]
