"""What is read back of a run's events."""

import json
from pathlib import Path

import pytest

from raymigrate.runtime.verify.trace import read_trace


def write_worker(folder: Path, rank: int, started: float, rate: float) -> None:
    """The events of one worker of a trial with a learning rate; its process id tells rank and trial."""
    pid = int(f"{rank + 1}{1 if rate == 1e-3 else 2}")
    start = {"kind": "start", "rank": rank, "time": started, "pid": pid, "settings": [["epochs", 2], ["lr", rate]]}
    (folder / f"events-{pid}.jsonl").write_text(json.dumps(start) + "\n")


@pytest.mark.parametrize("first", [1e-3, 1e-5])
def test_the_same_trial_of_a_tuner_is_compared_whichever_began_first(tmp_path: Path, first: float) -> None:
    """Trials run side by side: on each worker, and in each arm, another one may begin last."""
    for rank in (0, 1):
        began = {1e-3: 1.0, 1e-5: 2.0} if (first == 1e-3) == (rank == 0) else {1e-3: 2.0, 1e-5: 1.0}
        for rate, started in began.items():
            write_worker(tmp_path, rank, started, rate)
    trace = read_trace(tmp_path)
    assert [attempt.settings["lr"] for attempt in trace.last.values()] == ["1e-05", "1e-05"]


def test_the_last_attempt_of_a_job_that_restarted_is_compared(tmp_path: Path) -> None:
    write_worker(tmp_path, 0, 2.0, 1e-3)
    earlier = (tmp_path / "events-11.jsonl").read_text().replace('"pid": 11', '"pid": 5').replace("2.0", "1.0")
    (tmp_path / "events-5.jsonl").write_text(earlier)
    assert [attempt.pid for attempt in read_trace(tmp_path).ranks[0]] == [5, 11]


@pytest.mark.parametrize("searched", [1.0, 4.0], ids=["searched first", "fitted first"])
def test_what_the_script_fitted_itself_is_compared_and_not_the_trials_beside_it(
    tmp_path: Path, searched: float
) -> None:
    write_worker(tmp_path, 0, 2.0, 1e-3)
    write_worker(tmp_path, 0, searched, 1e-5)
    result = {"kind": "result", "rank": None, "time": 3.0}
    (tmp_path / "events-7.jsonl").write_text(json.dumps(result) + "\n")
    assert read_trace(tmp_path).first_rank.settings["lr"] == "0.001"


def test_a_function_of_tune_that_only_starts_a_trainer_is_no_training(tmp_path: Path) -> None:
    write_worker(tmp_path, 0, 1.0, 1e-3)
    driver = {"kind": "start", "rank": 0, "time": 2.0, "pid": 7, "settings": [["lr", 9.0]], "trial": True}
    (tmp_path / "events-7.jsonl").write_text(json.dumps(driver) + "\n")
    assert [attempt.pid for attempt in read_trace(tmp_path).ranks[0]] == [11]
    step = {"kind": "step", "rank": 0, "step": 1, "losses": [], "gradient_norm": 1.0, "time": 3.0}
    step |= {"learning_rates": [], "batches": []}
    (tmp_path / "events-7.jsonl").write_text(json.dumps(driver) + "\n" + json.dumps(step) + "\n")
    assert [attempt.pid for attempt in read_trace(tmp_path).ranks[0]] == [11, 7]
