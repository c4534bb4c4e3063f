"""RM731 in notebooks that install what a converted script of their project runs with."""

import json
from pathlib import Path

import pytest

from tests.test_pins import LEGACY, MODERN, project, run

INSTALL = "!pip install ray==2.5.0 transformers==4.30.2"


def notebook(path: Path, *cells: str) -> None:
    """Writes a notebook of cells with code."""
    path.parent.mkdir(exist_ok=True)
    made = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": cell.splitlines(True)}
        for cell in cells
    ]
    path.write_text(json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}))


@pytest.mark.parametrize(
    "use",
    [
        "from train import init",
        "import train\nimport ray\nray.init()",
        "import train as job",
        "!python train.py --epochs 3",
        "%run -i helpers.py\n!python3 ./train.py",
        "def go():\n    from train import init\n    init(None)",
    ],
)
def test_a_notebook_that_uses_a_converted_script_is_told(tmp_path: Path, use: str) -> None:
    project(tmp_path, train_py=LEGACY)
    notebook(tmp_path / "run.ipynb", INSTALL, use)
    assert run("--check", tmp_path).stdout.count(": RM731 unsafe: ") == 2
    run("--unsafe", tmp_path)
    text = (tmp_path / "run.ipynb").read_text()
    assert "ray>=2.51" in text
    assert "transformers>=5" in text


@pytest.mark.parametrize(
    ("script", "install", "use"),
    [
        (MODERN, INSTALL, "from train import loop"),
        (LEGACY, INSTALL, "import training"),
        (LEGACY, INSTALL, "# from train import init"),
        (LEGACY, "!pip install 'ray>=2.51' 'transformers>=5.0'", "from train import init"),
        (LEGACY, "!pip install pandas", "from train import init"),
        (LEGACY, INSTALL + "  # raymigrate: skip[RM731]", "from train import init"),
    ],
)
def test_others_are_left(tmp_path: Path, script: str, install: str, use: str) -> None:
    project(tmp_path, train_py=script)
    notebook(tmp_path / "run.ipynb", install, use)
    assert ": RM731 unsafe" not in run("--check", tmp_path).stdout


def test_a_later_run_tells_it_again(tmp_path: Path) -> None:
    project(tmp_path, train_py=LEGACY)
    run(tmp_path)
    notebook(tmp_path / "run.ipynb", INSTALL, "import train")
    assert run("--check", tmp_path).stdout.count(": RM731 unsafe: ") == 2


def test_nothing_is_told_where_the_rule_is_left_out(tmp_path: Path) -> None:
    project(tmp_path, train_py=LEGACY)
    notebook(tmp_path / "run.ipynb", INSTALL, "import train")
    assert "RM731" not in run("--check", "--ignore", "RM731", tmp_path).stdout
