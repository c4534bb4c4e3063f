"""Magics and shell lines of a notebook whose training moves to the workers."""

import json
from pathlib import Path

import pytest

from raymigrate.documents.notebook import Notebook
from tests.test_cli import invoke
from tests.to_ray.test_launchers import cell

IMPORTS = """\
import os
from transformers import AutoModel, Trainer, TrainingArguments
OUT = "out"
"""
MAKES = """\
model = AutoModel.from_pretrained("bert")
folder = f"{OUT}-{model.name.split('/')[-1]}"
trainer = Trainer(model, TrainingArguments(folder))
"""
TRAINS = "trainer.train()\ntrainer.save_model(folder)"
ENDS = "print(trainer.evaluate())"
READS, BEHIND, INSIDE = "which the training function makes now", "stood after the training", "cannot be sent to them"


def told(tmp_path: Path, *sources: str) -> list[str]:
    """What is said of the magics and shell lines of a notebook, which has a cell with each of the sources."""
    path = tmp_path / "book.ipynb"
    book = {"cells": [cell("code", source) for source in sources], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(book))
    lines = invoke("--to-ray", path).stdout.splitlines()
    assert "TorchTrainer(" in Notebook(path.read_bytes()).text
    return [line for line in lines if any(words in line for words in (READS, BEHIND, INSIDE))]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("!ls -lh {folder}/best", "folder"),
        ("%tensorboard --logdir {folder}/runs", "folder"),
        ("!du -sh $folder", "folder"),
        ("files = !ls {os.path.join(folder, 'best')}", "folder"),
        ("first, second = !ls {folder}", "folder"),
        ("(first, second) = !ls {folder}", "folder"),
        ("found = {}\nfound['the files'] = !ls {folder}", "folder"),
        ("def show():\n    files = !ls {folder}\n    return files", "folder"),
        ("%cd $folder", "folder"),
        ("!echo {trainer.state.best_metric}", "trainer"),
    ],
)
def test_a_line_that_reads_what_the_workers_make_is_told(line: str, name: str, tmp_path: Path) -> None:
    [found] = [said for said in told(tmp_path, IMPORTS, MAKES, TRAINS, line) if READS in said]
    assert f"reads `{name}`, {READS}" in found


@pytest.mark.parametrize(
    "line",
    [
        "!ls {OUT}",
        "!ls $HOME",
        "def show(folder):\n    files = !ls {folder}\n    return files",
        "!ls out | awk '{print $1}'",
        "!echo {{folder}} $$folder",
        "!ls folder",
        "%cd $OUT",
    ],
)
def test_other_names_are_not(line: str, tmp_path: Path) -> None:
    assert told(tmp_path, IMPORTS, MAKES, TRAINS, line) == []


@pytest.mark.parametrize(
    "line",
    ["!zip -r model.zip out", "%cp -r out /drive", "ls out", "!git push", "files = !ls out", "first, second = !ls out"],
)
def test_a_line_that_waits_for_the_training_is_told_where_it_runs_before_it_now(line: str, tmp_path: Path) -> None:
    [found] = told(tmp_path, IMPORTS, MAKES, TRAINS, line, ENDS)
    assert BEHIND in found
    assert told(tmp_path, IMPORTS, MAKES, TRAINS, ENDS, line) == []
    assert told(tmp_path, IMPORTS, MAKES, line, TRAINS, ENDS) == []


@pytest.mark.parametrize(
    "line",
    ["!pip install seaborn", "!nvidia-smi", "%matplotlib inline", "%load_ext tensorboard", "!sudo apt-get update"],
)
def test_a_line_that_asks_nothing_of_the_training_is_not(line: str, tmp_path: Path) -> None:
    assert told(tmp_path, IMPORTS, MAKES, TRAINS, line, ENDS) == []


@pytest.mark.parametrize(
    "source",
    ["if trainer.state:\n    !cp -r x /drive", "def keep(x):\n    !gzip $x\n    x.save_model()\nkeep(trainer)"],
)
def test_a_line_in_code_of_the_workers_is_told(source: str, tmp_path: Path) -> None:
    [found] = told(tmp_path, IMPORTS, MAKES, f"{TRAINS}\n{source}")
    assert INSIDE in found


SHELLS = ["%%bash", "%%sh", "%%bash --out text", "\n%%bash"]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_cell_of_a_shell_that_waits_for_the_training_is_told(shell: str, tmp_path: Path) -> None:
    cell_of_shell = f"{shell}\n# copies\nls out\ncp -r out /drive"
    [found] = told(tmp_path, IMPORTS, MAKES, TRAINS, cell_of_shell, ENDS)
    assert f"`{shell.strip()}` in cell 4 {BEHIND}" in found
    assert told(tmp_path, IMPORTS, MAKES, TRAINS, ENDS, cell_of_shell) == []
    assert told(tmp_path, IMPORTS, MAKES, cell_of_shell, TRAINS, ENDS) == []


def test_a_cell_of_a_shell_that_is_given_what_the_workers_make_is_told(tmp_path: Path) -> None:
    [found] = told(tmp_path, IMPORTS, MAKES, TRAINS, "%%bash -s {folder} $OUT\nls $1 $folder")
    assert f"`%%bash -s {{folder}} $OUT` in cell 4 reads `folder`, {READS}" in found


@pytest.mark.parametrize("source", ["%%bash\n# copies\npip install seaborn\nnvidia-smi", "%%html\n<b>ls</b>", "%%bash"])
def test_a_cell_that_asks_nothing_of_the_training_is_not(source: str, tmp_path: Path) -> None:
    assert told(tmp_path, IMPORTS, MAKES, TRAINS, source, ENDS) == []


def told_of_databricks(tmp_path: Path, *last: str) -> list[tuple[str, str]]:
    """What is said of the cells of a Databricks source that are below the training."""
    path = tmp_path / "source.py"
    cells = ["# Databricks notebook source", IMPORTS, MAKES, TRAINS, *last]
    path.write_text("".join(f"{cell}\n\n# COMMAND ----------\n\n" for cell in cells))
    lines = invoke("--to-ray", path).stdout.splitlines()
    assert "TorchTrainer(" in path.read_text()
    found = [line.partition("manual: ")[2].partition(" in a cell") for line in lines if READS in line]
    return [(shown, names) for shown, _, names in found]


def test_python_in_comments_that_reads_what_the_workers_make_is_told(tmp_path: Path) -> None:
    cells = [
        "# DBTITLE 1,Look\n# MAGIC %python\n# MAGIC print(trainer.evaluate())",
        "# MAGIC %python\n# MAGIC import json\n# MAGIC\n# MAGIC best = dict(\n# MAGIC   a=trainer.state)",
        "# MAGIC %python\n# MAGIC def run(x):\n# MAGIC   return model(x), folder",
        "# MAGIC %python\n# MAGIC print(OUT)\n# MAGIC model.eval()",
        "# MAGIC %python\n# MAGIC print(model, folder)\n# MAGIC def own(folder):\n# MAGIC   model = 1",
    ]
    found = told_of_databricks(tmp_path, *cells)
    expected = [
        ("`print(trainer.evaluate())`", "`trainer`"),
        ("`best = dict(a=trainer.state)`", "`trainer`"),
        ("`def run(x):`", "`folder`, `model`"),
        ("`model.eval()`", "`model`"),
        ("`print(model, folder)`", "`folder`, `model`"),
    ]
    assert [(shown, names.partition(" reads ")[2].partition(f", {READS}")[0]) for shown, names in found] == expected


def test_other_comments_are_not(tmp_path: Path) -> None:
    cells = [
        "# MAGIC %python\n# MAGIC print(OUT)",
        "# MAGIC %python\n# MAGIC model = 1\n# MAGIC print(model)",
        "# MAGIC %python\n# MAGIC model.eval(",
        "# MAGIC %python\n# MAGIC def own(model, *, trainer):\n# MAGIC   return [trainer for model in model]",
        "# MAGIC %python\n# MAGIC import json as model\n# MAGIC model.dumps({})",
        "# MAGIC %md\n# MAGIC model",
        "# MAGIC %sql\n# MAGIC model",
        "# %python\n# model",
    ]
    assert told_of_databricks(tmp_path, *cells) == []


HEADED = "at the head of cell"


def told_of_heads(tmp_path: Path, *sources: str) -> list[str]:
    path = tmp_path / "book.ipynb"
    book = {"cells": [cell("code", source) for source in sources], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(book))
    return [line for line in invoke("--to-ray", path).stdout.splitlines() if HEADED in line]


@pytest.mark.parametrize("magic", ["%%time", "%%timeit -n 1 -r 1", "# how long?\n\n%%time", "%%capture out"])
def test_a_magic_of_a_cell_whose_code_moves_is_told(magic: str, tmp_path: Path) -> None:
    [line] = told_of_heads(tmp_path, IMPORTS, MAKES, f"{magic}\n{TRAINS}", "trainer.save_model('b')")
    assert f"`{magic.splitlines()[-1]}` at the head of cell 3 has nothing to run any more" in line


@pytest.mark.parametrize(
    "sources",
    [
        (IMPORTS, f"%%time\n{MAKES}{TRAINS}"),  # over fit()
        (f"%%time\n{IMPORTS}", MAKES, TRAINS),
        (IMPORTS, MAKES, f"%%time\n{TRAINS}"),
        (IMPORTS, MAKES, TRAINS, "%%bash\nls", "trainer.save_model('b')"),
        (IMPORTS, MAKES, f"# %%time\n{TRAINS}", "trainer.save_model('b')"),
    ],
)
def test_a_magic_that_stays_is_not(sources: tuple[str, ...], tmp_path: Path) -> None:
    assert told_of_heads(tmp_path, *sources) == []
