"""`raymigrate explain "<error text>"`: what the pinned libraries really say leads to the rule that fixes it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from raymigrate.cli import main
from raymigrate.codemods.libraries.argument_changes import TRAINING_ARGUMENTS_CHANGES
from raymigrate.run.rules import every_rule, rules_by_text
from tests.error_snippets import SNIPPETS
from tests.jobs import run_python

# Rules that the text of a snippet also speaks of, by the rule that it is there for.
ALSO = {
    "RM108": {"RM514"},  # a name that is not among the datasets, whatever it is
    "RM514": {"RM108"},
    "RM306": {"RM305"},
}


def explain(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(main, ["explain", *arguments], input=stdin)


def codes(text: str) -> list[str]:
    return [rule.code for rule in rules_by_text(text)]


def environment(folder: Path) -> dict[str, str]:
    """Lets nothing outside the test's folder be written, and nothing be asked of the Hub."""
    return {
        **os.environ,
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "HF_HUB_OFFLINE": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }


@pytest.mark.ray
def test_what_the_libraries_say_leads_to_the_rule(tmp_path: Path) -> None:
    script = Path(__file__).with_name("error_snippets.py")
    command = [sys.executable, str(script)]
    outcome = subprocess.run(command, capture_output=True, text=True, env=environment(tmp_path), check=True)
    wrong = {}
    for code, snippet, said in json.loads(outcome.stdout):
        found = codes(said)
        if code not in found or set(found) - ALSO.get(code, set()) != {code}:
            wrong[snippet] = f"{code} expected, found {found} for: {said[-400:]}"
    assert not wrong


def test_every_argument_that_is_rewritten_has_its_text() -> None:
    for name, change in TRAINING_ARGUMENTS_CHANGES.items():
        found = codes(f"TypeError: TrainingArguments.__init__() got an unexpected keyword argument '{name}'")
        assert found == ["RM701" if change.name else "RM702"], name


def test_every_text_is_one_that_the_libraries_say() -> None:
    """A rule with texts has a snippet; the rest is what Ray 2.6 to 2.8 and NCCL said, and logs."""
    with_texts = {rule.code for rule in every_rule() if rule.errors}
    without = {"RM406", "RM823", "RM858", "RM911", "RM913"}
    assert with_texts - SNIPPETS.keys() == without, "give it a line of code in tests/error_snippets.py"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("result.metrics is None", ["RM605"]),
        ("KeyError: 'evaluation'", ["RM108"]),
        ("KeyError: 'date'", ["RM604"]),
        ("ModuleNotFoundError: No module named 'evaluate'", ["RM732"]),
        ("ImportError: Dataset requires pyarrow >= 17.0.0, but 12.0.1 is installed.", ["RM731"]),
        ("ModuleNotFoundError: No module named 'evaluate_modules'", ["RM481"]),
        ("The train_dataset does not implement __len__", ["RM107"]),
        ("HfUriError: Repository id must be 'namespace/name', got 'imdb'.", ["RM714"]),
        # shells and web pages lose quotation marks, terminals break lines
        ("ImportError: cannot import name AdamW from transformers", ["RM712"]),
        ("cannot import name “TransformersTrainer”\n  from “ray.train.huggingface”", ["RM101"]),
        # the texts of Ray 2.6 to 2.8
        ("The AccelerateTrainer will be hard deprecated in Ray 2.8. Use TorchTrainer instead.", ["RM201"]),
        ("ValueError: trainer_init_per_worker should take in at least 3 arguments, but it accepts 1 argum", ["RM911"]),
        # what users of plain scripts meet
        ("KeyError: 1", ["RM822"]),
        ("RuntimeError: No backend type associated with device type cpu", ["RM827"]),
        ("`ray.train.report` has not been called by all 2 workers in the group.", ["RM823"]),
        ("ncclInvalidUsage: Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1b000", ["RM858"]),
        # other people's errors
        ("KeyError: 10", []),
        ("ImportError: cannot import name 'TransformersTrainer' from 'other.sdk'", []),
        ("ImportError: cannot import name 'Camera' from 'raytracing'", []),
        ("AttributeError: module 'raytracing' has no attribute 'Camera'", []),
        ("KeyError: 'evaluation_loss'", []),
        ("TypeError: 'NoneType' object is not subscriptable", []),
        ("TypeError: MyTrainingArguments2.__init__() got an unexpected keyword argument 'no_cuda'", []),
        ("torch.OutOfMemoryError: CUDA out of memory.", []),
        ("", []),
    ],
)
def test_texts(text: str, expected: list[str]) -> None:
    assert codes(text) == expected


LOG = """\
\x1b[36m(RayTrainWorker pid=71, ip=10.0.0.2)\x1b[0m Setting up process group for: env:// [rank=0, world_size=2]
\x1b[36m(RayTrainWorker pid=71, ip=10.0.0.2)\x1b[0m /home/me/train.py:12: UserWarning: `report` is meant to only be\x20
\x1b[36m(RayTrainWorker pid=71, ip=10.0.0.2)\x1b[0m called inside a function that is executed by a Tuner or Trainer.
Traceback (most recent call last):
  File "/home/me/train.py", line 40, in <module>
    print("loss:", result.metrics["eval_loss"])
                   ~~~~~~~~~~~~~~^^^^^^^^^^^^^
TypeError: 'NoneType' object is not subscriptable
"""


def test_a_whole_log_leads_to_all_its_rules_the_most_specific_first() -> None:
    assert codes(LOG) == ["RM302", "RM605"]
    result = explain("-", stdin=LOG)
    assert result.exit_code == 0
    assert [line[:6] for line in result.stdout.splitlines() if line.startswith("RM")] == ["RM302:", "RM605:"]


def test_a_large_log_takes_no_time() -> None:
    assert codes(LOG + "x" * 2_000_000 + "\n" + "token " * 200_000) == ["RM302", "RM605"]


def test_words_need_no_quotation_marks() -> None:
    assert explain("No", "module", "named", "ray.train.batch_predictor").stdout.startswith("RM603: ")


def test_a_name_leads_to_the_rules_that_speak_of_it() -> None:
    lines = explain("TransformersTrainer").stdout.splitlines()
    assert lines[0].startswith("Rules that speak of TransformersTrainer;")
    assert lines[1].startswith("RM101  TransformersTrainer")
    assert explain("HfUriError").stdout.startswith("RM714: "), "of a single one all is shown"
    assert explain("NoSuchName").exit_code == 1


def test_of_an_unknown_text_one_sentence_says_what_to_do() -> None:
    result = explain("CUDA out of memory")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert "`raymigrate rules`" in result.stderr
    assert "report" in result.stderr


CLUSTER_JOB = """
import os
import tempfile
import traceback

import ray.air.session
import ray.train
from ray.train.torch import TorchTrainer


def loop(config):
    ray.air.session.report({"loss": 1.0})
    with tempfile.TemporaryDirectory() as folder:
        ray.train.report({"loss": 1.0}, checkpoint=ray.train.Checkpoint(folder))
    if config["dataset"]:
        ray.train.get_dataset_shard(config["dataset"])


def fit(name, dataset):
    run_config = ray.train.RunConfig(name=name, storage_path=os.getcwd())
    scaling_config = ray.train.ScalingConfig(num_workers=2)
    TorchTrainer(loop, train_loop_config={"dataset": dataset}, scaling_config=scaling_config, run_config=run_config,
                 datasets={"train": ray.data.range(4)}).fit()


fit("first", None)
fit("first", "evaluation")
"""


@pytest.mark.ray
def test_the_log_of_a_job_leads_to_the_rules(hub_url: str, tmp_path: Path) -> None:
    code, log = run_python([sys.executable, "-c", CLUSTER_JOB], hub_url, tmp_path)
    assert code == 1
    assert set(codes(log)) == {"RM108", "RM302", "RM406", "RM514"}
