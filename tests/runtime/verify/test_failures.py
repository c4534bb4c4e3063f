"""What is reported of an arm that did not run to its end, and of a script that fails after its training."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.options import Options
from raymigrate.cli import main
from raymigrate.runtime.verify.compare import compare, pair_of
from raymigrate.runtime.verify.description import note
from raymigrate.runtime.verify.failures import explained, last_error
from raymigrate.runtime.verify.results import Status
from raymigrate.runtime.verify.scripts import Sources, job_files
from raymigrate.runtime.verify.trace import Attempt, Trace
from tests.conftest import FIXTURES
from tests.runtime.verify.runs import made_up

BERT = FIXTURES / "accelerate_trainer/bert_mrpc/before.py"
PREFIX = "\x1b[36m(TrainController pid=17838)\x1b[0m "

CURRENT_RAY = """{prefix}KeyError: 'boom'
Traceback (most recent call last):
  File "{work}/train.py", line 78, in <module>
    result = trainer.fit()
             ^^^^^^^^^^^^^
  File "/lib/ray/train/v2/api/data_parallel_trainer.py", line 195, in fit
    raise result.error
ray.train.WorkerGroupError: Training failed due to worker errors:
[Rank 0,1 Error Snippet]:
Traceback (most recent call last):
  File "/lib/ray/train/v2/_internal/util.py", line 96, in train_fn
    return train_func()
           ^^^^^^^^^^^^
  File "{work}/jobs/helper.py", line 47, in trainer_init_per_worker
    raise KeyError("boom")
KeyError: 'boom'
{prefix}Failed to query Ray Train Controller actor state. State API may be temporarily unavailable.
"""
OLD_RAY = """ray.exceptions.RayTaskError(KeyError): ray::_Inner.train() (pid=71, ip=10.0.0.2)
  File "/lib/ray/tune/trainable/trainable.py", line 400, in train
    raise skipped from exception_cause(skipped)
ray.exceptions.RayTaskError(KeyError): ray::_RayTrainWorker__execute.get_next() (pid=72)
  File "{work}/jobs/helper.py", line 47, in trainer_init_per_worker
    raise KeyError("boom")
KeyError: 'boom'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "{work}/train.py", line 78, in <module>
    result = trainer.fit()
  File "/lib/ray/train/base_trainer.py", line 600, in fit
    raise TrainingFailedError(
ray.train.base_trainer.TrainingFailedError: The Ray Train run failed. Please inspect the previous error messages.
"""
TORCHRUN = """Traceback (most recent call last):
  File "{work}/jobs/helper.py", line 47, in trainer_init_per_worker
    raise KeyError("boom")
KeyError: 'boom'
W1122 21:13:05.104000 30154 torch/distributed/elastic/multiprocessing/api.py:910] Sending process 30161 closing signal
Traceback (most recent call last):
  File "<frozen runpy>", line 198, in _run_module_as_main
  File "/lib/torch/distributed/launcher/api.py", line 300, in launch_agent
    raise ChildFailedError(
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\x20
============================================================
train.py FAILED
"""
STANDIN = """Traceback (most recent call last):
  File "{work}/train.py", line 47, in train
    trainer.fit()
  File "/lib/raymigrate_standin/transformers_loop.py", line 125, in check_arguments
    raise ValueError(
ValueError: When using Ray AIR,`logging_strategy` must be set to the same value.
Got `logging_strategy`=no

Something later.
"""
UNKNOWN = STANDIN.replace(
    "When using Ray AIR,", "Tuner(trainer) is not known to raymigrate's stand-in for the old trainers"
)


def log_of(folder: Path, text: str) -> tuple[Path, Path]:
    """A log, and the folder in which the script of its run lay."""
    log = folder / "log.txt"
    log.write_text(text.format(work=folder / "work", prefix=PREFIX))
    return log, folder / "work"


@pytest.mark.parametrize("text", [CURRENT_RAY, OLD_RAY, TORCHRUN], ids=["current", "old", "torchrun"])
def test_the_error_comes_first_with_the_line_of_the_job(text: str, tmp_path: Path) -> None:
    told = explained(*log_of(tmp_path, text), "")
    assert told == (
        'KeyError: \'boom\'\n  File "jobs/helper.py", line 47, in trainer_init_per_worker\n    raise KeyError("boom")'
    )


def test_the_rules_that_know_the_error_are_told(tmp_path: Path) -> None:
    text = 'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\n    import ray.air\n'
    told = explained(*log_of(tmp_path, f"{text}ModuleNotFoundError: No module named 'ray.air'\n"), "")
    assert re.search(r"\n\nRM\d{3}: ", told)


def test_an_error_that_the_old_trainer_raised_too_is_said_to_be_one(tmp_path: Path) -> None:
    told = explained(*log_of(tmp_path, STANDIN), "2.6")
    assert told.startswith("The original would have stopped here on Ray 2.6 as well:\n\nValueError: When using Ray AIR")
    assert "Got `logging_strategy`=no\n" in told
    assert "Something later" not in told
    assert '  File "train.py", line 47, in train\n' in told


def test_what_the_stand_in_lacks_is_not_said_of_the_original(tmp_path: Path) -> None:
    assert "The original" not in explained(*log_of(tmp_path, UNKNOWN), "2.6")
    assert "The original" not in explained(*log_of(tmp_path, CURRENT_RAY), "2.6")


@pytest.mark.parametrize("text", ["", "loading\nno such dataset\n", "File not found\nValueError: printed by the job\n"])
def test_without_a_traceback_the_end_of_the_log_is_told(text: str, tmp_path: Path) -> None:
    log, work = log_of(tmp_path, text)
    assert last_error(log) is None
    assert explained(log, work, "") == f"The end of its log:\n\n{text.strip()}"


def test_all_of_the_log_is_in_a_file(tmp_path: Path) -> None:
    script = legacy(tmp_path, "import sys; print('a line far above\\n' + 'x\\n' * 100); sys.exit('stopped')")
    outcome = CliRunner().invoke(main, ["verify", str(script)])
    assert outcome.exit_code == 2
    log = Path(outcome.output.rpartition("All of its log: ")[2].strip())
    assert "a line far above" in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_failed_arm_replaces_the_report_of_an_earlier_run(tmp_path: Path) -> None:
    script = legacy(tmp_path, "raise_ = {}['rows']")
    (tmp_path / "out.md").write_text("all is well")
    reports = ["--report", str(tmp_path / "out.md"), "--report", str(tmp_path / "out.json")]
    assert CliRunner().invoke(main, ["verify", str(script), *reports]).exit_code == 2
    assert "Nothing was compared" in (tmp_path / "out.md").read_text()
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["passed"] is False
    assert "KeyError: 'rows'" in report["not_covered"][1]


def legacy(folder: Path, line: str) -> Path:
    """A legacy script that begins with a line of its own."""
    (folder / "job").mkdir(exist_ok=True)
    script = folder / "job/train.py"
    script.write_text(f"{line}\n{BERT.read_text()}")
    return script


# Other files beside the script.


def test_a_file_that_the_job_does_not_import_stops_nothing(tmp_path: Path) -> None:
    script = legacy(tmp_path, "x = 1")
    broken = "from ray.air import session\ndef broken(:\n"
    (script.parent / "broken.py").write_text(broken)
    converted, told = Sources(script).put_converted(tmp_path / "C", Options())
    assert "TorchTrainer(" in converted.read_text()
    assert [finding.path for finding in told] == ["broken.py"]
    respelled, _ = Sources(script).put_respelled(tmp_path / "B")
    assert respelled.exists()


def test_only_what_is_left_in_the_files_of_the_job_is_told(tmp_path: Path) -> None:
    left = "from ray.air import Checkpoint\n\n\ndef f(data):\n    return Checkpoint.from_bytes(data)\n"
    script = legacy(tmp_path, "import helper")
    for name in ("helper", "other"):
        (script.parent / f"{name}.py").write_text(left)
    (script.parent / "Dockerfile").write_text("FROM rayproject/ray-ml:2.6.3\n")
    _, told = Sources(script).put_converted(tmp_path / "C", Options())
    assert {(finding.path, finding.code) for finding in told} == {("helper.py", "RM308")}
    assert note(told[0]).startswith("left for a person in the converted script: RM308 helper.py:5 Checkpoint.from_by")


def test_the_files_of_a_job_are_those_that_its_imports_run(tmp_path: Path) -> None:
    files = {
        "train.py": "import a\nfrom package.inner import f\n",
        "a.py": "import b, train\n",
        "b.py": "",
        "package/__init__.py": "from . import setup\n",
        "package/setup.py": "",
        "package/inner.py": "",
        "package/unused.py": "",
        "other.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = {str(Path(path).relative_to(tmp_path.resolve())) for path in job_files(tmp_path / "train.py")}
    assert found == files.keys() - {"package/unused.py", "other.py"}


# A script that fails after its training.


def test_training_is_compared_although_a_script_fails_after_it() -> None:
    runs = [made_up("B"), replace(made_up("C"), status=1, error="KeyError: 'date'")]
    found = compare(pair_of("B", "C", runs), "the conversion")
    statuses = {gate.name: gate.status for gate in found.gates}
    assert statuses["course"] is statuses["end"] is Status.PASS
    assert statuses["outcome"] is Status.FAIL
    (check,) = (check for gate in found.gates for check in gate.checks if check.name == "end of the script")
    assert check.figures == "exit status 0 in B, exit status 1 (KeyError: 'date') in C"
    assert "the script fails after its training" in [cause.name for cause in found.causes]


def test_scripts_that_both_end_with_the_same_exit_status_are_alike() -> None:
    runs = [replace(made_up(name), status=3) for name in "BC"]
    assert compare(pair_of("B", "C", runs), "the conversion").status is Status.PASS


@pytest.mark.parametrize(
    ("results", "ended", "complete"),
    [
        ([{"error": None}], True, True),
        ([{"error": "boom"}], True, False),
        ([], True, False),
        ([{"error": None}], False, False),
        ([{"error": "first"}, {"error": None}], True, True),
    ],
)
def test_training_is_complete_when_fit_returned_and_every_worker_ended(
    results: list[dict[str, object]], ended: bool, complete: bool
) -> None:
    attempts = [Attempt(0.0, rank, {}) for rank in range(2)]
    for attempt in attempts if ended else attempts[:1]:
        attempt.final_weights = {}
    trace = Trace(Path("nowhere"), {rank: [attempt] for rank, attempt in enumerate(attempts)}, results)
    assert trace.complete is complete
