"""RM423: tensors in what Tune functions return, and functions of another file that a trainer or a Tuner runs."""

from pathlib import Path

import pytest

from tests.projects.files import convert, write
from tests.rules.scripts import converted

JOB = """
import torch
import torch.nn.functional as F


class Net(torch.nn.Module):
    pass


def loss(config):
    return {"loss": F.mse_loss(config, config)}


def state(config):
    return {"state": Net().cpu().state_dict()}


def number(config):
    return {"loss": F.mse_loss(config, config).item()}
"""
RUNS = """
from functools import partial

import job
from ray import tune
from ray.air import ScalingConfig
from ray.train.torch import TorchTrainer


def own(config):
    value = job.F.mse_loss(config, config)
    return {{"loss": value}}


{run}
"""


@pytest.mark.parametrize("function", ["loss", "state"])
@pytest.mark.parametrize(
    "run",
    [
        "TorchTrainer(job.{0}, scaling_config=ScalingConfig(num_workers=1)).fit()",
        "tune.run(job.{0})",
        "tune.Tuner(tune.with_resources(job.{0}, {{'cpu': 1}})).fit()",
        "tune.Tuner(trainable=partial(job.{0}, data=1)).fit()",
    ],
)
def test_what_a_function_of_another_file_returns_is_told_where_it_is_run(
    tmp_path: Path, run: str, function: str
) -> None:
    write(tmp_path, {"job.py": JOB, "train.py": RUNS.format(run=run.format(function))})
    told = [f for f in convert(tmp_path).findings if f.code == "RM423"]
    assert [Path(f.path).name for f in told] == ["train.py"]
    assert "as that of" in told[0].message and "job.py does" in told[0].message


@pytest.mark.parametrize("run", ["tune.run(job.number)", "tune.run(print)", "own.run(job.loss)"])
def test_numbers_of_another_file_are_no_news(tmp_path: Path, run: str) -> None:
    write(tmp_path, {"job.py": JOB, "train.py": RUNS.format(run=run)})
    assert not [f for f in convert(tmp_path).findings if f.code == "RM423"]


def test_a_tune_function_returns_numbers() -> None:
    script = RUNS.replace("import job", "import torch.nn.functional as F").replace("job.F", "F")
    assert 'return {"loss": value.item()}' in converted(script.format(run="tune.Tuner(own).fit()")).text
