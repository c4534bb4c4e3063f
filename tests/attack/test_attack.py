"""The attacks as tests; of the long ones a half each day."""

from pathlib import Path

import pytest

from tests.attack.cases import CASES
from tests.attack.command import Case

LONG = [pytest.mark.slow, pytest.mark.rotating(2)]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name, marks=LONG if case.slow else []) for case in CASES])
def test_an_attack_comes_to_nothing(case: Case, tmp_path: Path) -> None:
    assert case.act(tmp_path).startswith(case.expected)
