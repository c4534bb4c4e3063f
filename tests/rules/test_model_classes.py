"""RM303 and RM310: checkpoints with objects of classes of the script, which pickle finds by no name on a worker."""

import ast
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main as main_command
from raymigrate.codemods.shared.plain_callbacks import CALLBACK
from raymigrate.codemods.tracking.emitted_tracking import LOG_REPORT
from raymigrate.facts.projects.helpers import is_helper
from tests.rules.scripts import converted

BY_VALUE = "pickle_module=ray.cloudpickle"
SCRIPT = """
import argparse
import copy
import pickle
import time
from collections import defaultdict, namedtuple
from dataclasses import asdict, dataclass
from enum import Enum

import numpy as np
import torch
from ray import tune
from ray.air import Checkpoint, ScalingConfig, session
from ray.train.torch import TorchCheckpoint, TorchTrainer, prepare_model
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm

Point = namedtuple("Point", "x y")


class Kind(Enum):
    BEST = "best"


@dataclass
class State:
    epoch: int = 0


class Rows(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.ones(2), torch.ones(1)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(2, 1)
        self.seen = 0

    def forward(self, x):
        return self.fc(x)

    def count(self, n):
        self.seen += n
        return self

    def number(self):
        return self.seen


def build(size=2):
    return Net()


def collate(rows):
    return rows


def weights_of(model):
    return {{name: value.cpu() for name, value in model.state_dict().items()}}


def evaluate(model, loader):
    right, total = 0, 0
    for x, y in loader:
        right += (model(x) == y).sum().item()
        total += len(y)
    return right / total


def train_loop(config):
    model = prepare_model(Net())
    optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"])
    loss_fn = torch.nn.MSELoss()
    loader = DataLoader(Rows(), collate_fn=lambda rows: rows)
    losses, best, running = [], None, 0.0
    for epoch in range(config["epochs"]):
        for step, (x, y) in enumerate(tqdm(loader)):
            loss = loss_fn(model(x), y)
            losses.append(loss.item())
            running += loss.item() / len(loader)
        accuracy = evaluate(model, loader)
{body}
        session.report({{"epoch": epoch}}, checkpoint=Checkpoint.from_dict({given}))


SCALING = ScalingConfig(num_workers=1)
TorchTrainer(train_loop, train_loop_config={{"lr": 0.1, "epochs": 2}}, scaling_config=SCALING).fit()
"""


def is_by_value(given: str, *body: str) -> bool:
    """Whether the checkpoint of the script is pickled by value."""
    text = converted(SCRIPT.format(given=given, body="\n".join(f"        {line}" for line in body))).text
    assert "torch.save(" in text
    return BY_VALUE in text


@pytest.mark.parametrize(
    ("given", "body"),
    [
        ('{"model": model}', []),
        ('{"model": model.module}', []),
        ("dict(epoch=epoch, model=model)", []),
        ('{"models": [model]}', []),
        ('{"a": {"b": {"model": (epoch, model)}}}', []),
        ("data", ['data = {"epoch": epoch}', 'data["model"] = model']),
        ("data", ['data = {"epoch": epoch}', "data.update(model=model)"]),
        ("data", ["data = dict(epoch=epoch)", 'data |= {"model": model}']),
        ("{**parts, 'epoch': epoch}", ["parts = {'model': model}"]),
        ('{"model": best}', ["best = model if accuracy > 0.5 else best"]),
        ('{"model": copy.deepcopy(model)}', []),
        ('{"model": model.to("cpu").eval()}', []),
        ('{"model": getattr(model, "module", model)}', []),
        ('{"model": DistributedDataParallel(Net())}', []),
        ('{"model": build()}', []),
        ('{"model": Net().count(2)}', []),
        ('{"model": kind()}', ["kind = Net"]),
        ('{"model": {"net": Net}["net"]()}', []),
        ('{"kind": Net}', []),
        ('{"collate": collate}', []),
        ('{"scale": lambda x: x / 2}', []),
        ('{"seen": defaultdict(lambda: 0)}', []),
        ('{"point": Point(1, 2)}', []),
        ('{"kind": Kind.BEST}', []),
        ('{"state": State(1)}', []),
        ('{"loader": loader}', []),
        ('{"nets": nets}', ["nets = [Net() for _ in range(2)]"]),
        ('{"nets": nets}', ["nets = []", "nets.append(model)"]),
        ('{"net": net}', ["for net in [model]:", "    pass"]),
        ('{"net": net}', ["net, other = prepare(model, optimizer)"]),
        ('{"net": found}', ['found = torch.load("net.pt")']),
        ('{"net": pickle.loads(config["bytes"])}', []),
    ],
)
def test_objects_of_the_script_are_pickled_by_value(given: str, body: list[str]) -> None:
    assert is_by_value(given, *body)


@pytest.mark.parametrize(
    ("given", "body"),
    [
        ('{"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}', []),
        ('{"model": model.module.state_dict()}', []),
        ('{"model": getattr(model, "module", model).state_dict()}', []),
        ('{"model": copy.deepcopy(model.state_dict())}', []),
        ('{"model": weights_of(model)}', []),
        ('{"model": {name: value.cpu() for name, value in model.state_dict().items()}}', []),
        ('{"losses": losses, "running": running, "accuracy": accuracy}', []),
        ('{"step": step, "loss": loss, "mean": np.mean(losses), "time": time.time()}', []),
        ('{"lr": config["lr"], "wd": config.get("wd", 0.0), "config": config}', []),
        ('{"epoch": epoch + 1, "rest": len(loader) - step, "text": f"{epoch}"}', []),
        ('{"best": best}', ["best = max(best or 0, accuracy)"]),
        ('{"optimizer": optimizer, "linear": torch.nn.Linear(2, 1)}', []),
        ('{"rng": torch.get_rng_state(), "type": torch.float32, "device": next(model.parameters()).device}', []),
        ('{"seen": Net().number()}', []),
        ("asdict(State(1))", []),
        ('{"epoch": state.epoch}', ["state = State(1)", "state.epoch += 1"]),
        ("data", ['data = {"epoch": epoch}', 'data["model"] = model.state_dict()']),
        ("state", ["state = session.get_checkpoint().to_dict()", 'state["epoch"] = epoch']),
    ],
)
def test_plain_data_stay_with_torch_save(given: str, body: list[str]) -> None:
    assert not is_by_value(given, *body)


TRIAL = """
from ray import tune
from ray.air import Checkpoint, session
{0}

def trainable(config):
    session.report({{"a": 1}}, checkpoint=Checkpoint.from_dict({{"model": {1}}}))


tune.Tuner(trainable).fit()
"""


@pytest.mark.parametrize(
    ("before", "model", "expected"),
    [
        ("from models import make\n", "make(config)", False),  # without a class of the script there is none to be of
        ("from models import make\n\n\nclass Net:\n    pass\n", "make(config)", False),
        ("\n\nclass Net:\n    pass\n", "config['make']()", False),
        ("\n\nclass Net:\n    pass\n", "unknown(config)", False),
        ("\n\nclass Net:\n    pass\n", "Net()", True),
        ("\n\ndef make():\n    class Net:\n        pass\n    return Net()\n", "make()", True),
        ("\n\ndef make():\n    yield 1\n", "next(make())", False),
        ("\n\nclass Net:\n    pass\n\n\ndef make():\n    yield Net()\n", "next(make())", True),
        ("from sklearn.linear_model import Ridge\n", "Ridge().fit([[1]], [1])", False),
    ],
)
def test_what_a_script_without_torch_saves(before: str, model: str, expected: bool) -> None:
    outcome = converted(TRIAL.format(before, model))
    assert (BY_VALUE in outcome.text) == expected
    name = "ray.cloudpickle.dump" if expected else " pickle.dump"
    assert any(f"{name}() and pickle.load() do the same" in message for message in outcome.messages)


LIBRARY = """
from ray.air import Checkpoint, session


class Net:
    pass


def train_loop(config):
    session.report({{"a": 1}}, checkpoint=Checkpoint.from_dict({{"model": {0}}}))


def save(model, epoch: int):
    session.report({{"a": 1}}, checkpoint=Checkpoint.from_dict({{"model": model, "epoch": epoch}}))
"""
MAIN = """
from library import save, train_loop
from ray.train.torch import TorchTrainer
{0}

def loop(config):
    save({1}, 1)


TorchTrainer(loop).fit()
TorchTrainer(train_loop).fit()
"""


@pytest.mark.parametrize(
    ("library", "main", "model", "expected"),
    [
        ("Net()", "", "1", []),  # a worker imports it
        ("lambda x: x", "", "1", ["model"]),
        ("1", "class Own:\n    pass\n", "Own()", ["save"]),
        ("1", "from library import Net\n", "Net()", []),
        ("1", "class Own:\n    pass\n", "Own().state_dict()", []),
    ],
)
def test_a_class_that_workers_import_needs_nothing(
    library: str, main: str, model: str, expected: list[str], tmp_path: Path
) -> None:
    (tmp_path / "library.py").write_text(LIBRARY.format(library))
    (tmp_path / "main.py").write_text(MAIN.format(main, model))
    CliRunner().invoke(main_command, [str(tmp_path)])
    text = (tmp_path / "library.py").read_text()
    assert text.count("torch.save(") == 2
    assert text.count(BY_VALUE) == len(expected)


FROM_MODEL = """
import torch
from ray.air import session
from ray.air.config import ScalingConfig
from ray.train.torch import {0}


class Net(torch.nn.Module):
    pass


def train_loop(config):
    model = {1}
    session.report({{"a": 1}}, checkpoint={2})


TorchTrainer(train_loop, scaling_config=ScalingConfig(num_workers=1)).fit()
"""
IMPORTED = "TorchCheckpoint, TorchTrainer"


@pytest.mark.parametrize(
    ("imported", "saved", "now"),
    [
        (IMPORTED, "TorchCheckpoint.from_model(model)", "model_checkpoint(model)"),
        (IMPORTED, "TorchCheckpoint.from_model(model=model)", "model_checkpoint(model=model)"),
        ("TorchCheckpoint as Saved, TorchTrainer", "Saved.from_model(model)", "model_checkpoint(model)"),
    ],
)
def test_a_model_of_the_scripts_own_class_is_written_with_its_class(imported: str, saved: str, now: str) -> None:
    outcome = converted(FROM_MODEL.format(imported, "Net()", saved))
    assert outcome.lines("RM310", Kind.CONVERTED)
    assert f"checkpoint={now})" in outcome.text
    assert outcome.text.count(BY_VALUE) == 1
    assert outcome.text.count("def model_checkpoint(model):") == 1
    assert converted(outcome.text).text == outcome.text


@pytest.mark.parametrize(
    ("saved", "now"),
    [
        ("TorchCheckpoint.from_model(model)", "model_checkpoint(model) if RANK == 0 else None"),
        ("TorchCheckpoint.from_model(model=model)", "model_checkpoint(model=model) if RANK == 0 else None"),
        (
            "TorchCheckpoint.from_model(model) if config['save'] else None",
            "model_checkpoint(model) if config['save'] and RANK == 0 else None",
        ),
        ("TorchCheckpoint.from_model(whole(model))", "model_checkpoint(new_model) if RANK == 0 else None"),
    ],
)
def test_of_several_workers_rank_0_alone_writes_it(saved: str, now: str) -> None:
    script = FROM_MODEL.format(IMPORTED, "Net()", saved).replace("num_workers=1", "num_workers=2")
    outcome = converted(script)
    assert outcome.lines("RM309", Kind.CONVERTED) == outcome.lines("RM310", Kind.CONVERTED) != []
    assert f"checkpoint={now.replace('RANK', 'ray.train.get_context().get_world_rank()')}" in outcome.text
    assert "delete_local_checkpoint_after_upload=True" in outcome.text
    assert converted(outcome.text).text == outcome.text


@pytest.mark.parametrize(
    ("model", "saved"),
    [
        ("torch.nn.Linear(2, 1)", "TorchCheckpoint.from_model(model)"),
        ("Net()", "TorchCheckpoint.from_state_dict(model.state_dict())"),
        ("Net()", "TorchCheckpoint.from_model(torch.nn.Linear(2, 1))"),
    ],
)
def test_other_models_of_a_torch_checkpoint_stay(model: str, saved: str) -> None:
    outcome = converted(FROM_MODEL.format(IMPORTED, model, saved))
    assert "RM310" not in [code for code, _, _ in outcome.findings]
    assert f"checkpoint={saved}" in outcome.text


def test_a_model_with_a_preprocessor_is_left_to_a_person() -> None:
    saved = "TorchCheckpoint.from_model(model, preprocessor=config['p'])"
    outcome = converted(FROM_MODEL.format(IMPORTED, "Net()", saved))
    assert outcome.lines("RM310", Kind.MANUAL)
    assert f"checkpoint={saved}" in outcome.text


NESTED = """
import ray.train
import torch


class Net(torch.nn.Module):
    pass


def train_loop(config):
    from ray.air import Checkpoint, session
    from ray.train.torch import TorchCheckpoint

    session.report({{"a": 1}}, checkpoint={0})


def main():
    from ray.train.torch import TorchTrainer

    TorchTrainer(train_loop).fit()
"""


def test_a_function_that_imports_ray_itself_keeps_to_that() -> None:
    outcome = converted(NESTED.format("TorchCheckpoint.from_model(Net())"))
    assert outcome.lines("RM310", Kind.MANUAL)
    assert "    import ray.cloudpickle\n" in converted(NESTED.format('Checkpoint.from_dict({"m": Net()})')).text


def test_what_is_made_by_hand_from_a_dict_says_how_classes_are_saved() -> None:
    made = (
        "import torch\nfrom ray.air import Checkpoint\n\n\nclass Net:\n    pass\n\n\nkept = Checkpoint.from_dict({0})\n"
    )
    told = [converted(made.format(given)).messages for given in ('{"model": Net()}', '{"model": 1}')]
    assert [any(BY_VALUE in message for message in messages) for messages in told] == [True, False]


LOGGED = """
import models
from ray.air.config import RunConfig
from ray.air.integrations.{logger} import {callback}
from ray.train import torch
from ray.train.torch import TorchCheckpoint, TorchTrainer

def loop(config):
    model = torch.prepare_model(models.Net(size=config["size"]))
    TorchCheckpoint.from_model(model=model)

def train(settings):
    config = RunConfig(callbacks=[{callback}({given})])
    return TorchTrainer(loop, train_loop_config=settings, run_config=config).fit()
{more}
"""
LOGGERS = [
    ("mlflow", "MLflowLoggerCallback", 'tracking_uri="x", experiment_name="y"'),
    ("wandb", "WandbLoggerCallback", 'project="x"'),
]


@pytest.mark.parametrize(("logger", "callback", "given"), LOGGERS)
@pytest.mark.parametrize(("more", "own"), [("", False), ("class Other:\n    pass\n", True)])
def test_a_callback_that_an_earlier_run_wrote_is_no_class_of_the_script(
    logger: str, callback: str, given: str, more: str, own: bool
) -> None:
    first = converted(LOGGED.format(logger=logger, callback=callback, given=given, more=more))
    assert "(UserCallback)" in first.text
    assert ("model_checkpoint(" in first.text) is own
    assert converted(first.text).text == first.text


def test_definitions_of_the_tool_are_known_by_their_docstrings_or_their_code() -> None:
    with_docstring, without = (ast.parse(helper.source()).body[-1] for helper in (LOG_REPORT, CALLBACK))
    other = ast.parse("class ReportCallback(RayTrainReportCallback):\n    pass").body[0]
    definitions = (with_docstring, without, other)
    assert [is_helper(made) for made in definitions if isinstance(made, ast.ClassDef)] == [True, True, False]
