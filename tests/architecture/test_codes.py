"""The code of a rule leads to all that belongs to it: `git grep -l RM516` names its source, its fixtures, its tests."""

from functools import cache
from pathlib import Path

import pytest

from raymigrate.run.rules import every_rule
from tests.conftest import ROOT


@cache
def texts(pattern: str) -> dict[Path, str]:
    """What the files say that belong to a pattern, but for this one."""
    return {path: path.read_text("utf-8") for path in ROOT.glob(pattern) if path != Path(__file__)}


@pytest.mark.parametrize("pattern", ["raymigrate/**/*.py", "tests/**/test_*.py"], ids=["source", "test"])
def test_every_code_is_named_where_its_rule_is(pattern: str) -> None:
    """tests/test_twins.py asks the same of the fixtures; the rules of damaged files have none."""
    found = texts(pattern).values()
    assert [rule.code for rule in every_rule() if not any(rule.code in text for text in found)] == []
