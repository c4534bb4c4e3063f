"""Fixtures with a `runs.json` are run on the current libraries: the legacy script fails or misbehaves, its twin works.

`runs.json` says how each script ends and what it prints (a regular expression, searched in all of its output):

    {"before": {"exit": 1, "prints": "ImportError: .*TransformersTrainer"},
     "after": {"exit": 0, "prints": "loss 0[.]6"}}

`"needs": ["mlflow"]` beside them leaves a case out where that library is not installed.

Slow: most start a Ray of their own. `pytest -m "not ray"` leaves them out.
"""

import json
import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from raymigrate.runtime.hub import HubServer, cached_hub
from tests.conftest import FIXTURES
from tests.jobs import run_python

pytestmark = pytest.mark.ray

CASES = sorted(path.parent for path in FIXTURES.rglob("runs.json"))
RUNS = [(case, which) for case in CASES for which in ("before", "after")]


@pytest.fixture(scope="module")
def hub_url():
    with HubServer(cached_hub()) as hub:
        yield hub.url


@pytest.mark.parametrize(("case", "which"), RUNS, ids=[f"{c.relative_to(FIXTURES)}-{which}" for c, which in RUNS])
def test_the_legacy_script_fails_and_its_twin_works(case: Path, which: str, hub_url: str, tmp_path: Path) -> None:
    runs = json.loads((case / "runs.json").read_text(encoding="utf-8"))
    if missing := [library for library in runs.get("needs", []) if find_spec(library) is None]:
        pytest.skip(f"needs {', '.join(missing)}")
    expected = runs[which]
    folder = shutil.copytree(case, tmp_path / "case")  # scripts read and write beside themselves
    code, log = run_python([sys.executable, str(folder / f"{which}.py")], hub_url, folder)
    assert (code != 0) == (expected["exit"] != 0), log[-6000:]
    assert re.search(expected["prints"], log), f"{expected['prints']} was not printed:\n{log[-6000:]}"
