"""RM411 for the CheckpointConfig of tune.run() and of hyperparameter_search(): Tune's own, never that of Train."""

import pytest

from tests.rules.scripts import converted

FUNCTION = """\
from ray import tune

def train(config):
    tune.report({"loss": 1})

"""


@pytest.mark.parametrize(
    ("script", "line"),
    [
        (
            "from ray.air import CheckpointConfig\n"
            f"{FUNCTION}tune.run(train, checkpoint_config=CheckpointConfig(num_to_keep=1))\n",
            "tune.run(train, checkpoint_config=tune.CheckpointConfig(num_to_keep=1))",
        ),
        (
            f"from ray import air\n{FUNCTION}kept = air.CheckpointConfig(num_to_keep=1)\n"
            "tune.run(train, checkpoint_config=kept)\n",
            "kept = tune.CheckpointConfig(num_to_keep=1)",
        ),
        (
            "from ray.train import CheckpointConfig\n"  # as Ray 2.7 to 2.42 had it
            f"{FUNCTION}tune.run_experiments(tune.Experiment('x', train, checkpoint_config=CheckpointConfig()))\n",
            "tune.run_experiments(tune.Experiment('x', train, checkpoint_config=tune.CheckpointConfig()))",
        ),
        (
            f"from functools import partial\nfrom ray.air import CheckpointConfig\n{FUNCTION}"
            "run = partial(tune.run, checkpoint_config=CheckpointConfig(num_to_keep=1))\nrun(train)\n",
            "run = partial(tune.run, checkpoint_config=tune.CheckpointConfig(num_to_keep=1))",
        ),
        (
            "from ray import tune\nfrom ray.air.config import CheckpointConfig\n\n\n"
            "def search(trainer):\n"
            "    trainer.hyperparameter_search(backend='ray', checkpoint_config=CheckpointConfig(num_to_keep=1))\n",
            "    trainer.hyperparameter_search(backend='ray', checkpoint_config=tune.CheckpointConfig(num_to_keep=1))",
        ),
    ],
)
def test_a_run_of_tune_gets_the_configuration_of_tune(script: str, line: str) -> None:
    result = converted(script)
    assert line in result.text.splitlines()
    assert "ray.air" not in result.text
    assert "ray.train" not in result.text
    assert converted(result.text).text == result.text


@pytest.mark.parametrize(
    ("made", "run"),
    [
        ("def kept(n):\n    return CheckpointConfig(num_to_keep=n)\n", "tune.run(train, checkpoint_config=kept(2))"),
        ("options = {'checkpoint_config': CheckpointConfig(num_to_keep=3)}\n", "tune.run(train, **options)"),
        (
            "kept = CheckpointConfig(num_to_keep=1)\n"
            "TorchTrainer(train, run_config=RunConfig(checkpoint_config=kept))\n",
            "tune.run(train, checkpoint_config=kept)",
        ),
    ],
)
def test_what_others_may_get_too_is_told(made: str, run: str) -> None:
    imports = "from ray.air import CheckpointConfig, RunConfig\nfrom ray.train.torch import TorchTrainer\n"
    result = converted(f"{imports}{FUNCTION}{made}{run}\n")
    assert len(result.lines("RM411")) == 1
    assert "tune.CheckpointConfig" not in result.text


def test_a_search_by_another_library_is_left_alone() -> None:
    script = (
        "from ray.train import CheckpointConfig\n\n\n"
        "def search(trainer):\n"
        "    trainer.hyperparameter_search(backend='optuna', checkpoint_config=CheckpointConfig(num_to_keep=1))\n"
    )
    assert converted(script).text == script
