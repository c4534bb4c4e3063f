"""RM423: tensors among the metrics of a report, and in what a training function returns."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import convert, write
from tests.rules.scripts import converted

SCRIPT = """import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from ray import train, tune
from ray.air import session
from torch.nn import MSELoss
from transformers import AutoModel

from job import compute, data, make


def loop(config):
    accelerator = Accelerator()
{body}
"""
LOSS = "loss = F.mse_loss(a, b)"
TRAINED = "for batch in data:\n    loss = compute(batch)\n    loss.backward()"
TOTAL = "total = 0.0\nfor a, b in data:\n    total += F.mse_loss(a, b)"
NUMBERS = {  # what is done before, the metric, and how it is reported
    "function": (LOSS, "loss", "loss.item()"),
    "class": ("criterion = nn.CrossEntropyLoss()", "criterion(a, b)", "criterion(a, b).item()"),
    "class on a device": ("criterion = MSELoss().to('cuda')\nx = criterion(a, b)", "x", "x.item()"),
    "chosen class": ("c = nn.L1Loss() if config else MSELoss(reduction='sum')\nx = c(a, b)", "x", "x.item()"),
    "quotient": (LOSS, "loss / 4", "(loss / 4).item()"),
    "sum": (LOSS, "loss + loss * 0.1", "(loss + loss * 0.1).item()"),
    "negative": (LOSS, "-loss", "(-loss).item()"),
    "another name": (f"{LOSS}\nother = loss", "other", "other.item()"),
    "method": (LOSS, "loss.detach().cpu()", "loss.detach().cpu().item()"),
    "data": (LOSS, "loss.data", "loss.data.item()"),
    "gathered": (LOSS, "accelerator.gather(loss).mean()", "accelerator.gather(loss).mean().item()"),
    "tensor": ("", "torch.tensor(5.0)", "torch.tensor(5.0).item()"),
    "stacked": ("losses = [1]", "torch.mean(torch.stack(losses))", "torch.mean(torch.stack(losses)).item()"),
    "total": (TOTAL, "total", "float(total)"),
    "mean": (TOTAL, "total / len(data)", "float(total / len(data))"),
    "total by name": ("t = 0\nfor a, b in data:\n    t = t + F.mse_loss(a, b)", "t", "float(t)"),
    "total of a list": (
        "rows = []\nfor a, b in data:\n    rows.append(F.l1_loss(a, b))",
        "sum(rows)",
        "float(sum(rows))",
    ),
    "trained": (TRAINED, "loss", "loss.item()"),
    "accelerated": ("loss = compute()\naccelerator.backward(loss)", "loss", "loss.item()"),
    "scaled": ("loss = compute()\nscaler.scale(loss).backward()", "loss", "loss.item()"),
    "divided": ("loss = compute() / 4\nloss.backward()", "loss", "loss.item()"),
    "divided later": ("t = 0\nloss = compute()\nt += loss\nloss = loss / 4\nloss.backward()", "t", "t.item()"),
    "attribute": ("out = compute()\nout.loss.backward()", "out.loss", "out.loss.item()"),
    "attribute of what gets its name": ("(out := compute()).loss.backward()", "out.loss", "out.loss.item()"),
    "the same in a loop": (
        "for a in data:\n    accelerator.backward((out := compute(a)).loss)",
        "out.loss",
        "out.loss.item()",
    ),
    "the same, divided": ("((out := compute()).loss / 2).backward()", "out.loss", "out.loss.item()"),
    "part": ("loss = compute()[0]\n(loss / 2).backward()", "loss", "loss.item()"),
    "model": ("m = AutoModel.from_pretrained('a')\nout = m(a)", "out.loss", "out.loss.item()"),
    "model that is trained": (
        "m = make()\nm(a).loss.backward()\nout = m(b)",
        "out.loss",
        "out.loss.item()",
    ),
    "function of the file": ("def f():\n    return F.mse_loss(a, b)\nx = f()", "x", "x.item()"),
}
OTHERS = {
    "number": (LOSS, "loss.item()"),
    "float": (LOSS, "float(loss)"),
    "bound anew": (f"{LOSS}\nloss = loss.item()", "loss"),
    "total of numbers": ("t = 0\nfor a, b in data:\n    t += F.mse_loss(a, b).item()", "t"),
    "unknown": ("loss = compute()", "loss"),
    "unknown mean": ("scores = compute()", "scores.mean()"),
    "numpy": ("scores = np.array([1])", "scores.sum()"),
    "array": (LOSS, "loss.detach().numpy()"),
    "other function": ("shares = F.softmax(a, -1)", "shares"),
    "model of an object": ("self = make()\nout = self.model(a)", "out.loss"),
    "other attribute": ("out = compute()\nout.loss.backward()", "out.score"),
    "other attribute of what gets its name": ("(out := compute()).loss.backward()", "out.score"),
    "bound anew since": ("(out := compute()).loss.backward()\nout = read()", "out.loss"),
    "other loss": ("class MyLoss: ...\ncriterion = MyLoss()", "criterion(a, b)"),
    "backward of something else": ("loss = compute()\nother.backward()", "loss"),
}


def script(before: str, *reports: str) -> str:
    lines = [line for part in (before, *reports) for line in part.split("\n")]
    return SCRIPT.format(body="\n".join(f"    {line}" for line in lines if line))


@pytest.mark.parametrize(("before", "metric", "now"), NUMBERS.values(), ids=NUMBERS)
def test_the_number_of_a_loss_is_reported(before: str, metric: str, now: str) -> None:
    outcome = converted(script(before, f'session.report({{"x": {metric}}})'))
    assert f'report({{"x": {now}}})' in outcome.text
    assert not converted(outcome.text).lines("RM423", Kind.CONVERTED)


@pytest.mark.parametrize(("before", "metric"), OTHERS.values(), ids=OTHERS)
def test_numbers_and_what_is_not_known_stay(before: str, metric: str) -> None:
    outcome = converted(script(before, f'session.report({{"x": {metric}}})'))
    assert "RM423" not in {code for code, _, _ in outcome.findings}


@pytest.mark.parametrize(
    ("report", "now"),
    [
        ("session.report(dict(x=loss, n=1))", "report(dict(x=loss.item(), n=1))"),
        ("session.report(metrics={'x': loss})", "report(metrics={'x': loss.item()})"),
        ("session.report({'x': [loss, 1]})", "report({'x': [loss.item(), 1]})"),
        ("session.report({'x': {'y': (1, loss)}})", "report({'x': {'y': (1, loss.item())}})"),
        ("train.report({'x': loss})", "report({'x': loss.item()})"),
        ("tune.report(x=loss)", 'report({"x": loss.item()})'),
        ("tune.report({'x': loss})", "report({'x': loss.item()})"),
        ("m = {'x': loss}\nsession.report(m)", "m = {'x': loss.item()}"),
        ("m = {}\nm['x'] = loss\nprint(m)\nsession.report(m)", "m['x'] = loss.item()"),
        ("m = dict(x=loss)\nprint(f'{m}')\nsession.report(metrics=m)", "m = dict(x=loss.item())"),
        ("rows = []\nrows.append(loss)\nsession.report({'x': rows})", "rows.append(loss.item())"),
        ("def f():\n    return {'x': loss}\nsession.report(f())", "return {'x': loss.item()}"),
        ("def f():\n    m = {}\n    m['x'] = loss\n    return m\nm = f()\nsession.report(m)", "m['x'] = loss.item()"),
        ("m = {'x': loss}\nsession.report({**m, 'y': 1})", "m = {'x': loss.item()}"),
        ("m = {'x': {}}\nsession.report({'y': loss, **m})", "{'y': loss.item(), **m}"),
    ],
)
def test_metrics_are_found_wherever_they_are_put(report: str, now: str) -> None:
    outcome = converted(script(LOSS, report))
    assert now in outcome.text
    assert not outcome.lines("RM423", Kind.MANUAL)


@pytest.mark.parametrize(
    "report",
    [
        "session.report({'x': F.mse_loss(a, b, reduction='none')})",
        "session.report({'x': torch.stack([loss, loss])})",
        "session.report({'x': accelerator.gather(loss)})",
        "session.report({'x': loss / config['n']})",
        "x = loss if config else compute()\nsession.report({'x': x})",
        "m = {'x': loss}\nm['x'].backward()\nsession.report(m)",
        "m = {'x': loss}\ncompute(m)\nsession.report(m)",
        "def f():\n    return {'x': loss}\nf()['x'].backward()\nsession.report(f())",
        "self = make()\nself.m = {'x': loss}\nsession.report(self.m)",
    ],
)
def test_other_tensors_are_told(report: str) -> None:
    outcome = converted(script(LOSS, report))
    assert outcome.lines("RM423", Kind.MANUAL)
    assert not outcome.lines("RM423", Kind.CONVERTED)


@pytest.mark.parametrize(
    ("library", "is_known"), [("torch.nn as nn", True), ("paddle", False), ("ray.train.torch", True)]
)
def test_backward_is_that_of_torch(library: str, is_known: bool) -> None:
    script = (
        f"import {library}\nfrom ray.air import session\n\n\n"
        "def loop(loss):\n    loss = loss()\n    loss.backward()\n    session.report({'loss': loss})\n"
    )
    assert ("loss.item()" in converted(script).text) is is_known


RETURNS = """
import torch.nn.functional as F
from ray.air.config import ScalingConfig
from ray.train.torch import TorchTrainer, prepare_model
from transformers import AutoModel

from job import a, b, make


def loop(config):
    loss = F.mse_loss(a, b)
    model = prepare_model(make())
    {end}


TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2))
{more}
"""


@pytest.mark.parametrize(
    ("end", "now"),
    [
        ("return loss", "return loss.item()"),
        ('return {"loss": loss}', 'return {"loss": loss.item()}'),
        ("return [loss, 1]", "return [loss.item(), 1]"),
        ("found = []; found.append(loss); return found", "found.append(loss.item())"),
    ],
)
def test_a_training_function_returns_numbers(end: str, now: str) -> None:
    assert now in converted(RETURNS.format(end=end, more="")).text


@pytest.mark.parametrize(
    ("end", "more"),
    [
        ("return model", ""),
        ("return {'model': model}", ""),
        ("m = AutoModel.from_pretrained('gpt2'); return m", ""),
        ("return F.mse_loss(a, b, reduction='none')", ""),
        ("return loss", "loop({})"),
    ],
)
def test_what_a_training_function_may_not_return_is_told(end: str, more: str) -> None:
    assert converted(RETURNS.format(end=end, more=more)).lines("RM423", Kind.MANUAL)


@pytest.mark.parametrize("end", ["return loss.item()", "return None", "return a", "print(model)"])
def test_other_returns_are_no_news(end: str) -> None:
    assert "RM423" not in {code for code, _, _ in converted(RETURNS.format(end=end, more="")).findings}


def test_a_dict_of_another_file_is_told(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "losses.py": "import torch.nn.functional as F\n\n\ndef scores(a):\n    return {'loss': F.mse_loss(a, a)}\n",
            "train.py": "from ray.air import session\n\nfrom losses import scores\n\n\n"
            "def loop(config):\n    session.report(scores(config))\n",
        },
    )
    summary = convert(tmp_path)
    assert [(Path(f.path).name, f.line) for f in summary.findings if f.code == "RM423"] == [("train.py", 7)]


def test_a_loss_of_another_file_is_known(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "losses.py": "import torch.nn as nn\n\ncriterion = nn.MSELoss()\n",
            "train.py": "from ray.air import session\n\nfrom losses import criterion\n\n\n"
            'def loop(config):\n    loss = criterion(1, 2)\n    session.report({"loss": loss})\n',
        },
    )
    convert(tmp_path)
    assert 'report({"loss": loss.item()})' in (tmp_path / "train.py").read_text()


@pytest.mark.parametrize(
    "handed",
    [
        "return model.state_dict()",
        "return {'model': model.module.state_dict()}",
        "return plain",
        "train.report({'model': model.state_dict()})",
        "state = plain.state_dict()\n    train.report({'state': state})",
        "train.report({'model': plain})",
    ],
)
def test_models_and_their_states_are_told(handed: str) -> None:
    script = f"""
from ray import train
from ray.train.torch import TorchTrainer, prepare_model
import torch

def loop(config):
    plain = torch.nn.Linear(1, 1)
    model = prepare_model(torch.nn.Linear(1, 1))
    {handed}

TorchTrainer(loop, scaling_config=train.ScalingConfig(num_workers=1)).fit()
"""
    outcome = converted(script)
    assert len(outcome.lines("RM423", Kind.MANUAL)) == 1
    assert any("Save it into a checkpoint instead" in message for message in outcome.messages)


@pytest.mark.parametrize("handed", ["return scheduler.state_dict()", "train.report({'sizes': [torch.nn.__name__]})"])
def test_states_of_other_objects_are_no_tensors(handed: str) -> None:
    script = f"""
from job import scheduler
from ray import train
from ray.train.torch import TorchTrainer
import torch

def loop(config):
    {handed}

TorchTrainer(loop, scaling_config=train.ScalingConfig(num_workers=1)).fit()
"""
    assert not converted(script).lines("RM423", Kind.MANUAL)


STATES = """
import copy

import pytorch_lightning as pl
import torch
from ray import train, tune
from ray.air import session
from ray.train.torch import prepare_model
from torch import nn

from job import make


class Net(nn.Module):
    pass


class Module(pl.LightningModule):
    pass


def validate(model):
    model_copy = copy.deepcopy(model)
    result = {{"state": model_copy.cpu().state_dict(), "loss": 0.5}}
    return result


def loop(config):
    net = Net()
    model = prepare_model(net)
    other = make()
    session.report({reported})
"""


@pytest.mark.parametrize(
    "reported",
    [
        "{'x': net.state_dict()}",
        "{'x': net.cpu().state_dict()}",
        "{'x': net.to('cpu').eval().float().state_dict()}",
        "{'x': copy.deepcopy(net).half().state_dict()}",
        "{'x': copy.copy(model.module).state_dict()}",
        "{'x': copy.deepcopy(model.state_dict())}",
        "{'x': Module().eval()}",
        "validate(model)",
    ],
)
def test_the_state_of_a_copy_or_of_a_class_of_the_file_is_one_too(reported: str) -> None:
    messages = converted(STATES.format(reported=reported)).messages
    assert any("report() raises a ValueError for a tensor" in message for message in messages)


@pytest.mark.parametrize(
    "reported",
    ["{'x': other.cpu().state_dict()}", "{'x': copy.deepcopy(other)}", "{'x': net.cpu().count()}", "{'x': len(model)}"],
)
def test_what_is_not_known_to_be_a_model_is_not(reported: str) -> None:
    assert "RM423" not in {code for code, _, _ in converted(STATES.format(reported=reported)).findings}


@pytest.mark.parametrize(
    ("made", "advice"),
    [
        ("{'state': Net().state_dict()}", "Save it into a checkpoint"),
        ("{'loss': torch.zeros(1)}", "Report the number"),
        ("{'loss': torch.zeros(1), 'state': Net().state_dict()}", "Save it into a checkpoint"),
    ],
)
def test_the_advice_on_what_another_file_makes_fits_it(tmp_path: Path, made: str, advice: str) -> None:
    (tmp_path / "net.py").write_text(
        f"import torch\n\nclass Net(torch.nn.Module): ...\n\ndef make():\n    return {made}\n\n"
        f"def train(config):\n    return {made}\n"
    )
    (tmp_path / "train.py").write_text(
        "from ray import train\nfrom ray.train.torch import TorchTrainer\nfrom net import make\nimport net\n\n"
        "def loop(config):\n    train.report(make())\n\nTorchTrainer(loop).fit()\nTorchTrainer(net.train).fit()\n"
    )
    summary = convert(tmp_path)
    told = [found.advice for found in summary.findings if found.code == "RM423"]
    assert len(told) == 2 and all(advice in str(text) for text in told)
