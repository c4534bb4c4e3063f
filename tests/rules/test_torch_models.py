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


LOADS = """
import torch
from ray.air import Checkpoint, session
from ray.air.config import ScalingConfig
from ray.train.torch import TorchCheckpoint, TorchTrainer


def train_loop(config):
    model = torch.nn.Linear(2, 1)
    session.report({{"loss": 1}}, checkpoint={made})


result = TorchTrainer(train_loop, scaling_config=ScalingConfig(num_workers=1)).fit()
{load}
"""
FROM_DICT = 'Checkpoint.from_dict({"model": model.state_dict()})'
NO_FILE = "TorchCheckpoint.get_model() reads model.pt"
TODAY = """
import os
import ray.train
import torch
from ray.train.torch import TorchCheckpoint


def train_func(model, folder):
    torch.save(model.state_dict(), os.path.join(folder, "{file}"))
    ray.train.report({{}}, checkpoint=ray.train.Checkpoint.from_directory(folder))


model = TorchCheckpoint.from_directory("/run").get_model(torch.nn.Linear(2, 1))
"""
READS = "{head}import torch\nfrom ray.train.torch import TorchCheckpoint\n\nTorchCheckpoint('/run').get_model(net)\n"


def unfound(messages: list[str]) -> list[str]:
    """What is said of get_model()."""
    return [message for message in messages if message.startswith(NO_FILE)]


@pytest.mark.parametrize(
    "load",
    [
        "TorchCheckpoint(local_path=result.checkpoint.to_directory()).get_model(torch.nn.Linear(2, 1))",
        "TorchCheckpoint.from_directory('/run').get_model(model=torch.nn.Linear(2, 1))",
        "TorchCheckpoint.from_uri('s3://runs/1').get_model(torch.nn.Linear(2, 1))",
        "best = TorchCheckpoint(uri='s3://runs/1')\nprint(best.get_model(torch.nn.Linear(2, 1)))",
        "def load(checkpoint: TorchCheckpoint):\n    return checkpoint.get_model(torch.nn.Linear(2, 1))",
    ],
)
def test_a_torch_checkpoint_does_not_find_a_model_in_a_dict(load: str) -> None:
    (advice,) = unfound(converted(LOADS.format(made=FROM_DICT, load=load)).messages)
    assert f"model.load_state_dict({LOADED})" in advice


@pytest.mark.parametrize(
    ("made", "load"),
    [
        ("TorchCheckpoint.from_state_dict(model.state_dict())", "TorchCheckpoint('/run').get_model(net)"),
        (FROM_DICT, "TorchCheckpoint.from_model(net).get_model()"),
        (FROM_DICT, "TorchCheckpoint.from_checkpoint(result.checkpoint).get_model(net)"),  # RM308 says it
        (FROM_DICT, "registry.get_model('bert')"),
        (FROM_DICT, "print(TorchCheckpoint('/run').path)"),
    ],
)
def test_others_find_theirs_or_are_told_elsewhere(made: str, load: str) -> None:
    assert not unfound(converted(LOADS.format(made=made, load=load)).messages)


@pytest.mark.parametrize("name", ["checkpoint", "best"])
def test_the_checkpoint_of_a_result_is_not_made_one_that_finds_nothing(name: str) -> None:
    load = f"{name}: TorchCheckpoint = result.checkpoint\n{name}.get_model(torch.nn.Linear(2, 1))"
    messages = converted(LOADS.format(made=FROM_DICT, load=load)).messages
    (advice,) = [message for message in messages if "get_model() raises an AttributeError" in message]
    assert f"model.load_state_dict({LOADED})" in advice
    assert "Make it a TorchCheckpoint" not in advice


@pytest.mark.parametrize(("file", "count"), [("checkpoint.pt", 1), ("model.pt", 0), ("weights.bin", 0)])
def test_code_that_was_converted_before_names_its_file(file: str, count: int) -> None:
    assert len(unfound(converted(TODAY.format(file=file)).messages)) == count


@pytest.mark.parametrize(
    ("load", "count"),
    [
        ("TorchCheckpoint(local_path='/run').get_model(net)", 1),
        ("TorchCheckpoint.from_uri('s3://runs/1').get_model(net)", 1),
        ("TorchCheckpoint(result.checkpoint.path, result.checkpoint.filesystem).get_model(net)", 0),
        ("open('/run/model.pt')\nTorchCheckpoint(local_path='/run').get_model(net)", 0),
    ],
)
def test_where_there_are_both_only_what_is_written_as_before_is_told(load: str, count: int) -> None:
    both = f"{FROM_DICT} if config else TorchCheckpoint.from_model(model)"
    messages = unfound(converted(LOADS.format(made=both, load=load)).messages)
    assert len(messages) == count
    assert all("where it holds checkpoint.pt" in message for message in messages)


def test_what_legacy_code_finds_nowhere_may_be_in_an_old_folder() -> None:
    (advice,) = unfound(converted(READS.format(head="from ray.air import session\n")).messages)
    assert "dict_checkpoint.pkl" in advice
    assert not unfound(converted(READS.format(head="")).messages)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (LOADS.format(made=FROM_DICT, load=""), "is the model, or its state_dict"),
        (
            TODAY.format(file="checkpoint.pt").replace("TorchCheckpoint", "Checkpoint"),
            "is the model, or its state_dict",
        ),
        (LOADS.format(made="TorchCheckpoint.from_model(model)", load=""), ""),
    ],
)
def test_other_files_show_what_a_torch_checkpoint_finds(other: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(other)
    (tmp_path / "serve.py").write_text(READS.format(head=""))
    lines = CliRunner().invoke(main, ["--check", str(tmp_path)]).stdout.split("\n")
    found = [lines[number + 1] for number, line in enumerate(lines) if "serve.py" in line and NO_FILE in line]
    assert len(found) == bool(said)
    assert all(said in advice for advice in found)


BATCH = "BatchPredictor.from_checkpoint(result.checkpoint, TorchPredictor, model=torch.nn.Linear(2, 1))"
OWN = "class Own(TorchPredictor):\n    def call_model(self, inputs):\n        return self.model(inputs)\n"


@pytest.mark.parametrize("use", [f"predictor = {BATCH}", OWN])
@pytest.mark.parametrize(
    ("checkpoint", "said"),
    [
        ('Checkpoint.from_dict({"model": model.state_dict()})', f"model.load_state_dict({LOADED})"),
        (
            "TorchCheckpoint.from_state_dict(state)",
            "TorchCheckpoint(checkpoint.path, checkpoint.filesystem).get_model(",
        ),
    ],
)
def test_the_class_is_told_how_the_model_is_loaded(use: str, checkpoint: str, said: str) -> None:
    script = SCRIPT.format(checkpoint).rpartition("predictor = ")[0] + use + "\n"
    script = script.replace("import torch\n", "import torch\nfrom ray.train.batch_predictor import BatchPredictor\n", 1)
    messages = [m for m in converted(script).messages if m.startswith("ray.train.torch.TorchPredictor is gone")]
    assert any(said in message for message in messages)
