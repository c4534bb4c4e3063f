"""The complete jobs among the fixtures: converted, they train on current Ray with two CPU workers.

Slow: each starts a Ray of its own. `pytest -m "not ray"` leaves them out.
"""

import json
from pathlib import Path

import pytest

from tests.conftest import FIXTURES
from tests.jobs import Outcome, run_job

pytestmark = pytest.mark.ray

TRANSFORMERS_JOBS = ["gpt2_wikitext_own_data", "gpt2_wikitext_ray_data", "bert_mrpc_preprocessor_and_collator"]


def train_log(outcome: Outcome) -> list[dict[str, float]]:
    """What the Trainer logged, as its checkpoint keeps it."""
    assert outcome.checkpoint is not None
    state = json.loads((outcome.checkpoint / "checkpoint" / "trainer_state.json").read_text())
    return state["log_history"]


@pytest.mark.rotating(3)
@pytest.mark.parametrize("case", TRANSFORMERS_JOBS)
def test_a_converted_transformers_job_trains(case: str, hub_url: str, tmp_path: Path) -> None:
    outcome = run_job(FIXTURES / "transformers_trainer" / case / "after.py", hub_url, tmp_path)
    assert outcome.metrics is not None
    assert {"loss", "eval_loss", "train_loss", "epoch", "step"} <= outcome.metrics.keys()
    assert outcome.metrics["epoch"] == 2.0

    losses = [entry["loss"] for entry in train_log(outcome) if "loss" in entry]
    assert losses[-1] < losses[0]

    assert outcome.checkpoint is not None
    assert_the_model_loads(outcome.checkpoint / "checkpoint")


def test_a_converted_accelerate_job_trains(hub_url: str, tmp_path: Path) -> None:
    outcome = run_job(FIXTURES / "accelerate_trainer/bert_mrpc/after.py", hub_url, tmp_path)
    assert outcome.metrics is not None
    assert {"epoch", "train_loss", "accuracy", "f1"} <= outcome.metrics.keys()
    assert [metrics["epoch"] for metrics in outcome.history] == [0, 1]
    assert outcome.history[-1]["train_loss"] < outcome.history[0]["train_loss"]

    import torch  # noqa: PLC0415 - only when the jobs are run

    assert outcome.checkpoint is not None
    state = torch.load(outcome.checkpoint / "checkpoint.pt", weights_only=False)
    assert state["epoch"] == 1
    assert all(torch.isfinite(tensor).all() for tensor in state["model"].values())


def test_a_job_resumes_after_a_worker_failed(hub_url: str, tmp_path: Path) -> None:
    """The job fails once after step 7; Ray starts it again, and it goes on behind the checkpoint of step 5."""
    case = FIXTURES / "transformers_trainer/resumes_after_failure/after.py"
    outcome = run_job(case, hub_url, tmp_path, str(tmp_path / "failed-once"))
    assert (tmp_path / "failed-once").exists()
    assert outcome.metrics is not None
    assert (outcome.metrics["step"], outcome.metrics["epoch"]) == (15, 3.0)
    logged = [entry["step"] for entry in train_log(outcome) if "loss" in entry]
    assert logged == [5, 10, 15]
    assert "started at step 0" in outcome.log
    assert "started at step 5" in outcome.log


def assert_the_model_loads(folder: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification  # noqa: PLC0415 - as above

    config = json.loads((folder / "config.json").read_text())
    classes = {"gpt2": AutoModelForCausalLM, "bert": AutoModelForSequenceClassification}
    model = classes[config["model_type"]].from_pretrained(folder)
    assert sum(parameter.numel() for parameter in model.parameters()) > 0
