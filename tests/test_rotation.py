"""Rotating tests: a whole run takes a part of their cases, another one each day; who names a file gets all of them."""

import datetime
import os
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.prove import due
from tests.conftest import ROOT, ROTATES

TESTS = """\
import pytest

@pytest.mark.rotating(4)
@pytest.mark.parametrize("case", range(10))
def test_rotates(case): pass

@pytest.mark.parametrize("case", range(10))
def test_stays(case): pass
"""


@given(st.integers(0, 40), st.integers(1, 12), st.dates(max_value=datetime.date(9999, 12, 1)))
def test_each_case_has_its_turn_in_so_many_days(number: int, parts: int, day: datetime.date) -> None:
    cases = [f"case {n}" for n in range(number)]
    days = [due(cases, day + datetime.timedelta(days=n), parts) for n in range(parts)]
    assert sorted(chain.from_iterable(days)) == sorted(cases)
    assert max(map(len, days)) - min(map(len, days)) <= 1


@pytest.mark.parametrize(
    ("arguments", "least", "most"),
    [([], 2, 3), (["--all-runs"], 10, 10), (["tests/test_some.py::test_rotates"], 10, 10)],
    ids=["all tests", "all runs", "named"],
)
def test_all_cases_run_where_they_are_asked_for(arguments: list[str], least: int, most: int, tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_some.py").write_text(TESTS)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\ntestpaths = ["tests"]\nmarkers = ["rotating(parts): "]\n'
    )
    environment = {name: value for name, value in os.environ.items() if name != ROTATES} | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "--collect-only", "-q", *arguments]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert least <= done.stdout.count("::test_rotates[") <= most
    assert done.stdout.count("::test_stays[") == (0 if "::" in "".join(arguments) else 10)
