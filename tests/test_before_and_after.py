"""Fixtures with a `runs.json` are run on the current libraries: the legacy script fails or misbehaves, its twin works.

A run takes half a minute, so what came of it is kept in a `proof.json`, which scripts/prove.py writes. Where that fits
what it was made from, it is checked instead; a tenth of the cases is run nevertheless, another tenth each day.
`--all-runs` runs everything, `pytest -m "not ray"` leaves all of this out.
"""

from pathlib import Path

import pytest

from scripts.prove import CASES, FIXTURES, SCRIPTS, difference, due, expected, missing_libraries, record, run_script
from tests.conftest import today

pytestmark = pytest.mark.ray

RUNS = [(case, which) for case in CASES for which in SCRIPTS]


@pytest.mark.parametrize(("case", "which"), RUNS, ids=[f"{c.relative_to(FIXTURES)}-{which}" for c, which in RUNS])
def test_the_legacy_script_fails_and_its_twin_works(
    case: Path, which: str, hub_url: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    if missing := missing_libraries(case):
        pytest.skip(f"needs {', '.join(missing)}")
    known = record(case)
    if known is None or case in due(CASES, today()) or pytestconfig.getoption("all_runs"):
        run = run_script(case, which, hub_url, tmp_path)
        if known is not None:
            assert run.exit == known[which].exit, f"the record says otherwise:\n{run.prints[-6000:]}"
    else:
        run = known[which]
    problem = difference(expected(case)[which], run)
    assert not problem, problem
