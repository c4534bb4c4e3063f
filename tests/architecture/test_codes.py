"""The code of a rule leads to all that belongs to it: `git grep -l RM516` names its source, its fixtures, its tests."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from raymigrate.run.rules import every_rule
from tests.conftest import ROOT

# They go through all rules by tables, and say nothing of what one does.
TABLES = {Path(__file__), ROOT / "tests/reporting/test_places.py", ROOT / "tests/test_error_texts.py"}


@cache
def texts(pattern: str) -> dict[Path, str]:
    """What the files say that belong to a pattern, but for tables of rules."""
    return {path: path.read_text("utf-8") for path in ROOT.glob(pattern) if path not in TABLES}


def defined() -> Iterator[tuple[str, Path]]:
    """The code of each rule that a file of the package makes, with the file."""
    for path, text in texts("raymigrate/**/*.py").items():
        for code in re.findall(r'= Rule\(\s*"(RM\d+)"', text):
            yield code, path


def test_every_rule_is_made_in_one_file() -> None:
    assert sorted(code for code, _ in defined()) == [rule.code for rule in every_rule()]


def test_every_code_is_named_by_a_test_of_its_rule() -> None:
    """tests/test_twins.py asks the same of the fixtures; the rules of damaged files have none."""
    found = texts("tests/**/test_*.py").values()
    untested = [rule.code for rule in every_rule() if not any(rule.code in text for text in found)]
    assert untested == [], "write tests/rules/test_<file>.py for it, with the code in its first line"
