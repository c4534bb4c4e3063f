"""--to-ray: datasets that the lines which start a script name, also one that a cell of a notebook writes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.cli import main

SCRIPT = """\
import argparse

from datasets import load_dataset
from transformers import Trainer, TrainingArguments

from job import make_model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dataset_name"{default})
    args = parser.parse_args()
    rows = load_dataset({given}, split="train")
    trainer = Trainer(model=make_model(), args=TrainingArguments("out", report_to="none"), train_dataset=rows)
    trainer.train()


if __name__ == "__main__":
    main()
"""


def script(given: str = "args.dataset_name", default: str = "") -> str:
    return SCRIPT.format(given=given, default=default)


def notebook(*cells: str) -> str:
    code = [{"cell_type": "code", "source": cell, "metadata": {}, "outputs": []} for cell in cells]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": code})


def told(folder: Path, **files: str) -> list[tuple[str, str]]:
    """The code and message of each finding in a project of some files."""
    (folder / "pyproject.toml").write_text("")
    for name, text in files.items():
        stem, _, suffix = name.rpartition("_")
        (folder / f"{stem}.{suffix}").write_text(text)
    shown = CliRunner().invoke(main, ["--to-ray", "--check", "--isolated", "--output-format", "json", str(folder)])
    return [(found["code"], found["message"]) for found in json.loads(shown.stdout)["findings"]]


def named(found: list[tuple[str, str]]) -> list[str]:
    return [message for code, message in found if code == "RM714"]


@pytest.mark.parametrize(
    "line",
    [
        "python train.py --dataset_name imdb",
        "torchrun --nproc_per_node 2 train.py --dataset_name=imdb --batch 4",
        "accelerate launch train.py --batch 4 --dataset-name imdb",
        "python3 -m train --dataset_name 'imdb'",
    ],
)
def test_a_line_that_starts_a_script_names_its_dataset(line: str, tmp_path: Path) -> None:
    [message] = named(told(tmp_path, train_py=script(), run_sh=f"{line}\n"))
    assert 'where it gets "imdb", as run.sh:1 says' in message


@pytest.mark.parametrize(
    "cell", ["!python train.py --dataset_name imdb", "%%bash\ntorchrun train.py --dataset_name imdb"]
)
def test_so_does_the_notebook_that_writes_it(cell: str, tmp_path: Path) -> None:
    cells = notebook(f"%%writefile train.py\n{script()}", cell)
    [message] = named(told(tmp_path, run_ipynb=cells))
    assert 'where it gets "imdb", as run.ipynb:cell 2:' in message


@pytest.mark.parametrize("name", ["scripts/train.py", "./scripts/train.py"])
def test_a_notebook_may_write_a_script_into_a_folder(name: str, tmp_path: Path) -> None:
    cells = notebook(
        f"%%writefile {name}\n{script()}", "!accelerate launch --num_processes 3 scripts/train.py --dataset_name imdb"
    )
    found = told(tmp_path, run_ipynb=cells)
    assert len(named(found)) == 1
    assert any(code == "RM801" and "on 3 workers" in message for code, message in found)
    assert any(code == "RM824" and "it is `python scripts/train.py` now" in message for code, message in found)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (script(), "python train.py --dataset_name stanfordnlp/imdb"),
        (script(), "python train.py --dataset_name csv"),
        (script(), "python train.py --dataset_name $NAME"),
        (script(), "python train.py --dataset_name --batch 3"),
        (script(), "python other.py --dataset_name imdb"),
        (script(), "python train.py --other_name imdb"),
        (script('"stanfordnlp/imdb"'), "python train.py --dataset_name imdb"),
    ],
)
def test_others_are_left_alone(text: str, line: str, tmp_path: Path) -> None:
    assert not named(told(tmp_path, train_py=text, run_sh=f"{line}\n"))
