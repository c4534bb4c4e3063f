"""RM609: the folder of a checkpoint, looked for by its number."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted


@pytest.mark.parametrize(
    "line",
    [
        'found = find(bucket, "checkpoint_000000/")',
        'path = f"{root}/checkpoint_000000"',
        'path = os.path.join(root, "checkpoint_000000", "model.pt")',
        'path = root + "/runs/first/checkpoint_000000/checkpoint.pt"',
    ],
)
def test_a_number_is_told(line: str) -> None:
    assert converted(f"import ray\n{line}\n").lines("RM609", Kind.MANUAL) == [2]


@pytest.mark.parametrize(
    "script",
    [
        'import ray\npath = "output/checkpoint-500"',
        'import ray\npath = "checkpoint_0001.pt"',
        'import ray\npath = "my_checkpoint_000000"',
        'import ray\npath = os.path.join(last_run, "checkpoint_000004")',
        'import os\npath = "checkpoint_000000/"',
        'import ray\n"""Ray 2.6 called it checkpoint_000000/ always."""',
        'import ray\npath = "runs/TorchTrainer_f638a_00000_0/checkpoint_000000/model.pt"',
        'import ray\npath = f"s3://{b}/T_2023-09-05_12-25-24/{t}/checkpoint_000000/model.pt"',
        'import ray\nopen(os.path.join("runs", "train_0a1b2_00003", "checkpoint_000000/"))',
        'from ray import tune\ntune.Tuner(f).fit()\nopen("checkpoint_000000/a")',
    ],
)
def test_other_names_and_runs_that_are_over_are_no_news(script: str) -> None:
    assert "RM609" not in {code for code, _, _ in converted(f"{script}\n").findings}


def test_a_trainer_in_a_tuner_counts_as_a_trainer() -> None:
    script = (
        "from ray import tune\nfrom ray.train import ScalingConfig\nfrom ray.train.torch import TorchTrainer\n"
        "def train(config):\n    TorchTrainer(print, scaling_config=ScalingConfig()).fit()\n"
        'open("checkpoint_000000/a")\n'
    )
    assert converted(script).lines("RM609", Kind.MANUAL) == [6]


@pytest.mark.parametrize(
    ("line", "slash", "scheme"),
    [
        ('upload("checkpoint_000000/")', True, ""),
        ('upload(f"{root}/checkpoint_000000/")', True, ""),
        ('upload(root + "/checkpoint_000000/")', True, ""),
        ('upload(os.path.join(root, "checkpoint_000000/"))', True, ""),
        ('upload(root + "/checkpoint_000000/" + name)', False, ""),
        ('upload(f"{root}/checkpoint_000000/{name}")', False, ""),
        ('upload(os.path.join(root, "checkpoint_000000/", name))', False, ""),
        ('upload("s3://runs/checkpoint_000000")', False, "s3://"),
        ('root = "gs://runs"; upload(f"{root}/checkpoint_000000/")', True, "gs://"),
        ('root = "gs://runs"; upload(os.path.join(root, "checkpoint_000000"))', False, "gs://"),
    ],
)
def test_what_the_path_of_a_checkpoint_lacks_is_said(line: str, slash: bool, scheme: str) -> None:
    (message,) = converted(f"import os\nimport ray\n{line}\n").messages
    assert ("has no / at its end" in message) == slash
    assert ("Its URI is" in message) == bool(scheme)
    assert f'"{scheme}" + result.checkpoint.path' in message or not scheme


RUN = """
import os
import re
from pathlib import Path
from ray.air.config import ScalingConfig
from ray.train.huggingface import {trainer}
from job import init, load, rows

result = {trainer}(init, scaling_config=ScalingConfig(num_workers=1, use_gpu=True), datasets=rows).fit()
"""
TAKEN_OUT = {
    "split": "print(int(result.checkpoint.path.split('_')[-1]))",
    "by a name": "path = result.checkpoint.path\nrun = path.rstrip('/').split('/')[-2]\nload(run)",
    "the last part": "name = os.path.basename(result.checkpoint.path)\nstep = int(name[-6:])",
    "bound again": "path = result.checkpoint.path\npath = path.rstrip('/')\nrun = path\npath = run\nload(path[-6:])",
    "of a Path": "step = int(Path(result.checkpoint.path).name.rpartition('_')[2])",
    "its parts": "load(Path(result.checkpoint.path).parts[-2])",
    "a pattern": "step = re.search(r'\\d+$', str(result.checkpoint.path)).group()",
    "a compiled one": "step = NUMBER.search(result.checkpoint.path)[0]",
    "of each": "for checkpoint, metrics in result.best_checkpoints:\n    print(checkpoint.path.rsplit('_', 1)[1])",
}


@pytest.mark.parametrize("trainer", ["TransformersTrainer", "AccelerateTrainer"])
@pytest.mark.parametrize("taken", TAKEN_OUT.values(), ids=TAKEN_OUT)
def test_text_that_is_taken_out_of_a_path_is_told_and_reads_no_file(taken: str, trainer: str) -> None:
    outcome = converted(f"{RUN.format(trainer=trainer)}{taken}\n")
    assert len(outcome.lines("RM609", Kind.MANUAL)) == 1
    assert "RM602" not in {code for code, _, _ in outcome.findings}


@pytest.mark.parametrize(
    "line",
    [
        "print(os.path.basename(result.checkpoint.path))",
        "print(Path(result.checkpoint.path).name)",
        "load(os.path.basename(str(result.checkpoint.path)).upper())",
        "load(other.path.split('_')[-1])",
        "load(rows.checkpoint.path.split('_')[-1])",
    ],
)
def test_a_name_that_is_taken_whole_reads_no_file_either(line: str) -> None:
    found = {code for code, _, _ in converted(f"{RUN.format(trainer='TransformersTrainer')}{line}\n").findings}
    assert found.isdisjoint({"RM602", "RM609"})
