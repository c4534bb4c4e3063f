"""RM731 in notebooks that install what a converted script of their project runs with."""

import json
import re
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


PLAIN = """
from transformers import Trainer, TrainingArguments

from job import make_model, rows

trainer = Trainer(model=make_model(), args=TrainingArguments("out", report_to="none"), train_dataset=rows)
trainer.train()
"""
OLD = "!pip install transformers==4.30.2"


@pytest.mark.parametrize(
    "use",
    [
        "!python train.py --epochs 3",
        "!torchrun --nproc_per_node 4 train.py",
        "!accelerate launch --num_processes=2 --mixed_precision bf16 ./train.py --epochs 3",
        "!accelerate launch --config_file a.yaml \\\n  train.py",
        "%%bash\ncd .\ntorchrun --standalone --nproc_per_node=2 train.py",
        "import train",
    ],
)
def test_one_that_starts_a_script_need_not_know_of_ray(tmp_path: Path, use: str) -> None:
    project(tmp_path, train_py=PLAIN)
    notebook(tmp_path / "run.ipynb", OLD, use)
    said = run("--check", "--to-ray", tmp_path).stdout
    assert said.count(": RM731 unsafe: transformers==4.30.2") == 1
    assert said.count(": RM732 manual: ") == 2  # accelerate and Ray
    run("--unsafe", "--to-ray", tmp_path)
    assert "transformers>=5" in (tmp_path / "run.ipynb").read_text()


@pytest.mark.parametrize("use", ["!python other.py", "!torchrun train.sh", "# torchrun train.py", "print('train')"])
def test_one_that_starts_another_is_left(tmp_path: Path, use: str) -> None:
    project(tmp_path, train_py=PLAIN)
    notebook(tmp_path / "run.ipynb", OLD, use)
    assert ": RM73" not in run("--check", "--to-ray", tmp_path).stdout


def test_what_is_installed_already_is_not_asked_for(tmp_path: Path) -> None:
    project(tmp_path, train_py=PLAIN)
    notebook(tmp_path / "run.ipynb", "!pip install transformers accelerate 'ray[train]'", "!python train.py")
    assert ": RM73" not in run("--check", "--to-ray", tmp_path).stdout


DATABRICKS = (
    "# Databricks notebook source\n# MAGIC %pip install ray==2.5.0 transformers==4.30.2\n\n# COMMAND ----------\n\n"
)


def told(folder: Path, *options: str) -> int:
    """How many pins of run.py are told."""
    return len(re.findall(r"run\.py:2:\d+: RM731 ", run(*options, folder).stdout))


ON_SPARK = "import ray.util.spark\n\nray.util.spark.setup_ray_cluster(num_worker_nodes=2)\n"


@pytest.mark.parametrize("own", ["import ray\n", ON_SPARK], ids=["nothing of its own", "converted itself"])
@pytest.mark.parametrize(
    ("folder", "use"),
    [("", "from train import init"), ("jobs/", "from jobs.train import init"), ("jobs/", "from .train import init")],
)
def test_a_source_of_databricks_is_a_notebook(tmp_path: Path, folder: str, use: str, own: str) -> None:
    project(tmp_path)
    (tmp_path / folder).mkdir(exist_ok=True)
    for name in ("__init__.py", "train.py") if folder else ("train.py",):
        (tmp_path / folder / name).write_text(LEGACY if name == "train.py" else "")
    path = tmp_path / folder / "run.py"
    path.write_text(f"{DATABRICKS}{own}{use}\n\ninit(None)\n")
    assert told(tmp_path, "--check") == 2
    assert told(tmp_path) == 2
    assert ("max_worker_nodes=2" in path.read_text()) == (own == ON_SPARK)
    assert told(tmp_path, "--check") == 2
    run("--unsafe", tmp_path)
    assert "MAGIC %pip install 'ray>=2.51' 'transformers>=5.0'" in path.read_text()


@pytest.mark.parametrize(
    ("head", "use"),
    [
        (DATABRICKS.replace("# Databricks notebook source\n", ""), "from train import init"),
        (DATABRICKS, "from training import init"),
        (DATABRICKS.replace("==", ">="), "from train import init"),
        (DATABRICKS.replace("4.30.2", "4.30.2  # raymigrate: skip[RM731]"), "from train import init"),
    ],
)
def test_other_scripts_are_none(tmp_path: Path, head: str, use: str) -> None:
    project(tmp_path, train_py=LEGACY)
    (tmp_path / "run.py").write_text(f"{head}import ray\n{use}\n\ninit(None)\n")
    assert told(tmp_path, "--check") == 0
