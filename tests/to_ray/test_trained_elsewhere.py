"""--to-ray: scripts that make the Accelerator, and leave the step to a function or a class of another file."""

from pathlib import Path

import pytest

from tests.test_cli import invoke

TRAIN = """\
import torch
from accelerate import Accelerator
{imports}


def main():
    accelerator = Accelerator()
    model, optimizer, loader = make()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    {before}
    for epoch in range(3):
        {step}
        accelerator.print(epoch)


main()
"""
ENGINE = """\
class Engine:
    def __init__(self, accelerator, model, optimizer):
        self.accelerator, self.model, self.optimizer = accelerator, model, optimizer

    def train(self, loader):
        for batch in loader:
            self.step(batch)

    def step(self, batch):
        loss = self.model(batch).loss
        self.accelerator.backward(loss)
        self.optimizer.step()

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.train(loader)


def train(accelerator, model, optimizer, loader):
    for batch in loader:
        accelerator.backward(model(batch).loss)
        optimizer.step()


def count(loader):
    return len(loader)
"""
MADE = "engine = Engine(accelerator, model, optimizer)"


def moved(tmp_path: Path, **given: str) -> tuple[str, str]:
    parts = {"imports": "from job import make\nfrom engine import Engine", "before": MADE} | given
    (tmp_path / "train.py").write_text(TRAIN.format(**parts))
    (tmp_path / "engine.py").write_text(ENGINE)
    said = invoke("--to-ray", "--workers", "2", "--cpu", str(tmp_path))
    assert (tmp_path / "engine.py").read_text() == ENGINE
    return (tmp_path / "train.py").read_text(), said.output


@pytest.mark.parametrize(
    "given",
    [
        {"step": "engine.train(loader)"},
        {"step": "for batch in loader:\n            engine.step(batch)"},
        {
            "imports": "from job import make\nfrom engine import train as one_epoch",
            "before": "print(loader)",
            "step": "one_epoch(accelerator, model, optimizer, loader)",
        },
        {
            "imports": "from job import make\nimport engine",
            "before": "print(loader)",
            "step": "engine.train(accelerator, model, optimizer, loader)",
        },
    ],
)
def test_the_script_moves_and_reports_each_epoch(tmp_path: Path, given: dict[str, str]) -> None:
    text, said = moved(tmp_path, **given)
    assert "def train_func" in text
    assert '        ray.train.report({"epoch": epoch})\n' in text
    assert "RM802" not in said
    assert f"The step is in {tmp_path / 'engine.py'}, which stays as it is" in said


def test_a_loop_over_epochs_in_the_other_file_is_told(tmp_path: Path) -> None:
    text, said = moved(tmp_path, before=f"{MADE}\n    engine.fit(loader, 3)", step="pass")
    assert "def train_func" in text and "report(" not in text
    assert "engine.py" in next(line for line in said.splitlines() if "The loop over epochs is in" in line)


def test_a_call_that_does_not_train_is_none(tmp_path: Path) -> None:
    given = {"imports": "from job import make\nfrom engine import count", "before": "print(loader)"}
    text, said = moved(tmp_path, **given, step="count(loader)")
    assert "TorchTrainer" not in text
    assert "No call of accelerator.backward is in this file" in said
