"""The attacks as tests; the long ones on demand."""

from pathlib import Path

import pytest

from tests.attack.cases import CASES
from tests.attack.command import Case


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.name, marks=[pytest.mark.slow] if case.slow else []) for case in CASES]
)
def test_an_attack_comes_to_nothing(case: Case, tmp_path: Path) -> None:
    assert case.act(tmp_path).startswith(case.expected)
