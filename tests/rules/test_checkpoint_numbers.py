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
