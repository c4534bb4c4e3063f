"""A file beside a script that has the name of a library is what Python imports, and not taken for the library."""

from pathlib import Path

import pytest

from raymigrate.base.options import Options
from raymigrate.facts.own_modules import is_own_module
from raymigrate.run.engine import convert

SCRIPT = """\
import evaluate
import torch
from accelerate import Accelerator

accelerator = Accelerator()
model, optimizer, loader = accelerator.prepare(*make())
for epoch in range(3):
    for batch in loader:
        accelerator.backward(model(batch).mean())
        optimizer.step()
    print(evaluate.evaluate(model, loader))
"""
GONE = "from datasets import load_metric\n\nmetric = load_metric('accuracy')\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "evaluate.py").write_text("def evaluate(model, loader):\n    return 1.0\n")
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "__init__.py").write_text("def load_metric(name):\n    return name\n")
    (tmp_path / "wandb").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("name", "is_own"), [("evaluate", True), ("datasets", True), ("wandb", False), ("ray", False), ("helpers", False)]
)
def test_only_what_python_finds_first_is_own(folder: Path, name: str, is_own: bool) -> None:
    assert is_own_module(str(folder / "train.py"), name) is is_own
    assert not is_own_module("", name)


def test_modules_of_a_package_import_the_library(folder: Path) -> None:
    (folder / "__init__.py").write_text("")
    assert not is_own_module(str(folder / "train.py"), "evaluate")


@pytest.mark.parametrize("options", [Options(to_ray=True), Options(to_ray=True, to_accelerate=True)])
def test_an_own_evaluate_is_not_the_library(folder: Path, options: Options) -> None:
    def gone(path: str) -> list[str]:
        return [f.message for f in convert(SCRIPT, path, options=options).findings if f.code == "RM692"]

    assert gone(str(folder / "train.py")) == []
    assert len(gone("")) == 1


def test_an_own_function_is_not_replaced_by_that_of_the_library(folder: Path) -> None:
    script = "import ray\n" + GONE
    assert convert(script, str(folder / "train.py")).after is None
    assert "evaluate.load" in str(convert(script).after)
