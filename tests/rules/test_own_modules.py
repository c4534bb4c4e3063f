"""A file beside a script that has the name of a library is what Python imports, and not taken for the library."""

from pathlib import Path

import pytest

from raymigrate.base.options import Options
from raymigrate.facts.syntax.own_modules import is_own_module
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


@pytest.mark.parametrize(
    "text",
    [
        "from datasets import MyRows, load_metric\nMyRows(load_metric)",
        "from datasets import load_metric",
        "from datasets import *\nMyRows()\nAdamW()",
        "import datasets\ndatasets.MyRows()",
        "import datasets as d\nd.load_metric('a')",
        "from datasets import Split, GenerateMode\nprint(GenerateMode)",
        "def f():\n    from datasets.rows import Row\n    return Row",
        "import datasets.rows\ndatasets.rows.Row()",
    ],
)
@pytest.mark.parametrize("place", ["train.py", "scripts/train.py", "job/train.py", "job/deep/train.py"])
def test_nothing_is_told_of_the_names_of_an_own_module(tmp_path: Path, text: str, place: str) -> None:
    package = tmp_path / "datasets"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from .rows import (\n    MyRows,\n)\n\nGenerateMode = 1\n\n\ndef load_metric(name):\n    return name\n"
    )
    (package / "rows.py").write_text("class Row:\n    pass\n\n\nclass MyRows:\n    pass\n")
    (tmp_path / "setup.py").write_text("")
    for folder in ("scripts", "job", "job/deep"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text("")
    (tmp_path / "scripts" / "__init__.py").unlink()
    result = convert(f"import ray\n{text}\n", str(tmp_path / place))
    if place != "train.py" and "*" in text:
        return  # what the star brings in, nothing says
    assert result.findings == []
    assert result.after is None


@pytest.mark.parametrize(("home", "is_own"), [("", True), ("src", True), ("lib", False)])
def test_an_own_module_may_lie_in_the_src_of_a_project(tmp_path: Path, home: str, is_own: bool) -> None:
    (tmp_path / "setup.py").write_text("")
    (tmp_path / "scripts").mkdir()
    (tmp_path / home / "datasets").mkdir(parents=True)
    (tmp_path / home / "datasets" / "__init__.py").write_text("def load_metric(name):\n    return name\n")
    assert (convert(f"import ray\n{GONE}", str(tmp_path / "scripts" / "train.py")).after is None) is is_own


@pytest.mark.parametrize("name", ["load_metric", "Row"])
def test_a_module_of_the_project_without_the_name_does_not_hide_the_library(tmp_path: Path, name: str) -> None:
    (tmp_path / "setup.py").write_text("")
    (tmp_path / "scripts").mkdir()
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "__init__.py").write_text("# Row and load_metric are elsewhere\nRows = 1\n")
    script = f"import ray\nfrom datasets import {name}\n\n{name}()\n"
    assert convert(script, str(tmp_path / "scripts" / "train.py")).findings


def test_a_checkout_of_old_ray_moves_on_itself(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("")
    (tmp_path / "ray" / "train").mkdir(parents=True)
    (tmp_path / "ray" / "__init__.py").write_text("")
    (tmp_path / "ray" / "train" / "__init__.py").write_text("def load_checkpoint():\n    pass\n")
    (tmp_path / "examples").mkdir()
    script = "from ray.train import load_checkpoint\n\nload_checkpoint()\n"
    assert convert(script, str(tmp_path / "examples" / "train.py")).findings
