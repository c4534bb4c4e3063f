"""A script that surely trains is not passed over in silence, though nothing of it moves."""

from pathlib import Path

import pytest

from raymigrate.base.options import Options
from raymigrate.run.engine import convert
from tests.test_cli import invoke

LOOP = """\
import torch

model = torch.nn.Linear(2, 1)
{made}
for epoch in range(3):
    for batch in load():
        {optimizer}.zero_grad()
        loss = model(batch).sum()
        {back}
        {optimizer}.step()
"""
SGD = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)"


def told(script: str, **options: bool) -> list[str]:
    found = convert(script, options=Options(to_ray=True, **options)).findings
    return [finding.message for finding in found if finding.code == "RM802"]


@pytest.mark.parametrize(
    ("made", "optimizer", "back"),
    [
        (SGD, "optimizer", "loss.backward()"),
        ("opt = make(model)", "opt", "loss.backward(retain_graph=True)"),
        (SGD.replace("optimizer =", "parts = {};"), "parts['opt']", "scaler.scale(loss).backward()"),
    ],
)
def test_a_native_loop_is_told(made: str, optimizer: str, back: str) -> None:
    [message] = told(LOOP.format(made=made, optimizer=optimizer, back=back))
    assert message.startswith("A native PyTorch loop")


@pytest.mark.parametrize(
    "script",
    [
        LOOP.format(made=SGD, optimizer="optimizer", back="pass"),
        LOOP.format(made=SGD, optimizer="optimizer", back="accelerator.backward(loss)"),
        LOOP.format(made="", optimizer="optimizer", back="loss.backward()").replace(
            "import torch", "import own as torch"
        ),
        LOOP.format(made=SGD, optimizer="optimizer", back="loss.backward()") + "import ray\n",
        "import torch\nloss = torch.ones(1, requires_grad=True)\nloss.backward()\n",
    ],
)
def test_what_is_no_native_loop_is_not(script: str) -> None:
    assert told(script) == []


def test_with_both_options_the_first_step_says_why_a_loop_stays() -> None:
    script = LOOP.format(made=SGD, optimizer="optimizer", back="loss.backward()")
    found = convert(script, options=Options(to_ray=True, to_accelerate=True)).findings
    assert {finding.code for finding in found} == {"RM851"}


TRAINER = """\
from distill import {imported}
from transformers import TrainingArguments
{define}
arguments = TrainingArguments("out")
trainer = {name}(model, {given})
trainer.train()
"""


@pytest.mark.parametrize(
    ("imported", "define", "name", "given"),
    [
        ("DistillationTrainer", "", "DistillationTrainer", "args=arguments"),
        ("Distiller", "", "Distiller", "arguments"),
        ("DistillationTrainer", "", "DistillationTrainer", "settings"),
        ("Base", "class Own(Base):\n    pass\n", "Own", "args=arguments"),
    ],
)
def test_a_trainer_of_a_file_that_is_not_there_is_told(imported: str, define: str, name: str, given: str) -> None:
    [message] = told(TRAINER.format(imported=imported, define=define, name=name, given=given))
    assert message.startswith(f"{imported} comes from distill, which was not found below the paths")


@pytest.mark.parametrize(
    "script",
    [
        TRAINER.format(imported="Model", define="", name="Model", given="settings"),
        TRAINER.format(imported="Own", define="class Own:\n    pass\n", name="Own", given="args=arguments"),
        "from own import make\nmodel = make()\nmodel.train()\n",
    ],
)
def test_other_objects_with_a_method_train_are_not(script: str) -> None:
    assert told(script) == []


@pytest.mark.parametrize("option", ["--to-ray", "--to-accelerate"])
def test_nothing_to_move_is_said_in_these_words(option: str, tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("import torch\n\nmodel = torch.nn.Linear(2, 1)\n")
    assert "nothing to move, and nothing legacy found (1 file scanned)" in invoke(option, path).stderr
    path.write_text("print(1)\n")
    assert "nothing to move, and nothing legacy found (1 file scanned)" in invoke(option, path).stderr
    assert "nothing to move" not in invoke(path).stderr
