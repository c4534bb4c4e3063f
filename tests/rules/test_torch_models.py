"""RM603: where the model of a checkpoint is that a TorchPredictor was made of."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.cli import main
from tests.rules.scripts import converted

SCRIPT = """
import torch
from ray.air import Checkpoint, session
from ray.air.config import ScalingConfig
from ray.train.torch import TorchCheckpoint, TorchPredictor, TorchTrainer


def train_loop(config):
    model = torch.nn.Linear(2, 1)
    state = model.state_dict()
    session.report({{"loss": 1}}, checkpoint={0})


result = TorchTrainer(train_loop, scaling_config=ScalingConfig(num_workers=1)).fit()
predictor = TorchPredictor.from_checkpoint(result.checkpoint, torch.nn.Linear(2, 1))
"""
PREDICTS = """
import torch
from ray.train import Checkpoint
from ray.train.torch import TorchPredictor

predictor = TorchPredictor.from_checkpoint(Checkpoint("/run"), torch.nn.Linear(2, 1))
"""
LOADED = 'torch.load(os.path.join(folder, "checkpoint.pt"), map_location="cpu", weights_only=False)["model"]'
GET_MODEL = "get_model(model)"


def told(messages: list[str]) -> str:
    """What is said of the predictor that is made."""
    return next(message for message in messages if "eval mode" in message)


@pytest.mark.parametrize(
    ("checkpoint", "said", "not_said"),
    [
        ('Checkpoint.from_dict({"model": model.state_dict()})', f"model.load_state_dict({LOADED})", GET_MODEL),
        ("Checkpoint.from_dict(dict(epoch=1, model=state))", f"model.load_state_dict({LOADED})", GET_MODEL),
        ('Checkpoint.from_dict({"model": model})', f"{LOADED} is the model, or its state_dict", GET_MODEL),
        ("TorchCheckpoint.from_model(model)", GET_MODEL, "checkpoint.pt"),
        ("TorchCheckpoint.from_state_dict(state)", GET_MODEL, "checkpoint.pt"),
        ("make(state)", f"{GET_MODEL} of ray.train.torch loads it; where it holds", "is made from a dict"),
        (
            "Checkpoint.from_dict({'model': state}) if config else TorchCheckpoint.from_model(model)",
            "where it holds checkpoint.pt",
            "is made from a dict",
        ),
    ],
)
def test_the_model_is_loaded_from_the_file_that_holds_it(checkpoint: str, said: str, not_said: str) -> None:
    advice = told(converted(SCRIPT.format(checkpoint)).messages)
    assert said in advice
    assert not_said not in advice


@pytest.mark.parametrize(
    ("other", "said", "not_said"),
    [
        (SCRIPT.format("Checkpoint.from_dict({'model': state})"), "The checkpoint is made from a dict", GET_MODEL),
        (SCRIPT.format("TorchCheckpoint.from_model(model)"), GET_MODEL, "checkpoint.pt"),
        ("print('nothing')\n", "where it holds checkpoint.pt", "is made from a dict"),
    ],
)
def test_other_files_of_the_project_show_it(other: str, said: str, not_said: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(other)
    (tmp_path / "predict.py").write_text(PREDICTS)
    outcome = CliRunner().invoke(main, ["--check", str(tmp_path)])
    advice = next(part for part in outcome.stdout.split("\n") if "eval mode" in part)
    assert said in advice
    assert not_said not in advice
