"""Nothing grows faster than what there is to do: four times as many take about four times the work, not sixteen times.

Work is counted as calls, which are the same in every run, on a quiet machine and on a busy one. `benchmarks/growth.py`
takes the time, up to the largest files that there can be.
"""

import cProfile
import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.growth_cases import CASES
from benchmarks.growth_inputs import USE, Case, script
from raymigrate.cli import main

MOST = 4**1.2
SLACK = 10_000  # calls that a fixed amount of work may differ by
CHARACTERS = 4_000  # of the smaller input
UNCOUNTED = nullcontext()


@pytest.fixture(autouse=True)
def one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls in another process would not be seen."""
    monkeypatch.chdir(tmp_path)  # and back at the end
    monkeypatch.setattr("raymigrate.run.session.apart", lambda work: work())


def run(case: Case, folder: Path, number: int, profile: AbstractContextManager[object] = UNCOUNTED) -> None:
    """Runs the command for so many, with a profile if its calls are to be counted."""
    case.write(folder / "job", number)
    os.chdir(folder)
    with profile:
        outcome = CliRunner().invoke(main, ["-q", "--jobs", "1", *case.arguments, "job"])
    assert outcome.exit_code in (0, 1), outcome.output


def calls(case: Case, folder: Path, number: int) -> int:
    """How many calls the command makes for so many."""
    profile = cProfile.Profile(subcalls=False)
    run(case, folder, number, profile)
    return sum(entry.callcount for entry in profile.getstats())


def length(case: Case, number: int) -> int:
    return sum(map(len, case.files(number).values()))


def grows_faster(case: Case, folder: Path) -> bool:
    """Whether the work for a case grows faster than the number."""
    number = min(max(4, CHARACTERS // max(1, length(case, 2) - length(case, 1))), case.size)
    run(case, folder / "first", 2)  # imports, and fills what is kept from file to file
    fixed, less, more = (calls(case, folder / str(n), n) for n in (1, number, 4 * number))
    return more - fixed > MOST * (less - fixed) + SLACK


@pytest.mark.rotating(4)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_work_grows_with_the_number(case: Case, tmp_path: Path) -> None:
    assert not grows_faster(case, tmp_path)


def test_work_that_grows_with_the_square_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def compare_all(text: str) -> list[str]:
        lines = text.split("\n")
        for line in lines:
            assert sum(line == other for other in lines)
        return lines

    monkeypatch.setattr("raymigrate.facts.syntax.module.lines_of", compare_all)
    assert grows_faster(Case("lines", 1_000, script("x = 1\n", USE)), tmp_path)
