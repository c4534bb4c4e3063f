"""Jobs that mix what surrounds the trainers: verified, some with a killed worker too.

Some are held against real Ray 2.6 (arm A), in an environment that is made first unless it is cached; the search also
against the stand-in (arm B). A dict as checkpoint and a preprocessor are in test_wrong_conversions.py, which runs those
jobs anyway.

Slow: real Ray, two CPU workers. One job each day, unless all are asked for.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import FIXTURES
from tests.runtime.verify.test_bundled_jobs import verify

pytestmark = pytest.mark.ray

JOBS = [
    pytest.param("tracking/mlflow_transformers/before.py", "B,C", True, id="mlflow-callback"),
    pytest.param("predictors/pipeline_predictors/before.py", "A,B,C", False, id="predictors"),
    pytest.param("tuner/tuner_bert_mrpc/before.py", "A,B,C", False, id="tuner"),
    pytest.param("projects/init_in_config/before/train_on_ray.py", "B,C", False, id="project-of-several-files"),
    pytest.param("notebooks/bert_colab/before.ipynb", "A,C", False, id="notebook"),
]


@pytest.mark.minutes
@pytest.mark.rotating(5)
@pytest.mark.parametrize(("script", "arms", "kill"), JOBS)
def test_a_mixed_job_trains_as_before(script: str, arms: str, kill: bool, tmp_path: Path) -> None:
    options = ["--arms", arms, "--report", "out.json", *(["--kill-worker"] if kill else [])]
    done = verify(FIXTURES / script, *options, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["passed"] is True
    gates = {gate["name"]: gate["status"] for gate in report["comparisons"][0]["gates"]}
    assert gates["course"] != "not applicable"
    assert (gates["failure"] == "pass") is kill
