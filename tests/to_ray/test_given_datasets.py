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


LINE = "python train.py --dataset_name imdb --name imdb\n"
LOAD = "def load(dataset_name):\n    return load_dataset(dataset_name)"
LOAD_OF = "def load_of(given):\n    return load_dataset(given.dataset_name)"
DATA = """class Data:
    def __init__(self):
        self.dataset_name = choose()

    def load(self):
        return load_dataset(self.dataset_name)"""


def with_more(before: str, line: str, given: str) -> str:
    """The script with a function or class over main(), and a line in it over the one that loads the rows."""
    text = script(given).replace("def main():\n", f"{before}\n\n\ndef main():\n")
    return text.replace("    rows =", f"    {line}\n    rows =")


@pytest.mark.parametrize(
    ("before", "line", "given"),
    [
        ("", "chosen = args.dataset_name", "chosen"),
        ("", "chosen = args.dataset_name or choose()", "chosen"),
        ("", "given, rest = parser.parse_known_args()", "given.dataset_name"),
        ("from cfg import given", "", "given.dataset_name"),
        (LOAD, "load(args.dataset_name)", '"csv"'),
        (LOAD.replace("dataset_name", "path"), "load(args.dataset_name)", '"csv"'),
        (LOAD_OF, "load_of(args)", '"csv"'),
    ],
)
def test_a_name_that_comes_from_the_command_line_is_told(before: str, line: str, given: str, tmp_path: Path) -> None:
    text = with_more(before, line or "print()", given)
    [message] = named(told(tmp_path, train_py=text, run_sh=LINE))
    assert 'where it gets "imdb", as run.sh:1 says' in message


@pytest.mark.parametrize(
    ("before", "line", "given"),
    [
        (LOAD.replace("dataset_name", "name"), "[load(name.strip()) for name in open('sets.txt')]", '"csv"'),
        (LOAD, "load(input())", '"csv"'),
        (LOAD_OF, "load_of(json.load(open('c.json')))", '"csv"'),
        ("", "for one in read():\n        load_dataset(one.dataset_name)", '"csv"'),
        (DATA, "Data().load()", '"csv"'),
        ("", "dataset_name = input()", "dataset_name"),
    ],
)
def test_a_name_that_is_called_like_an_option_is_left_alone(before: str, line: str, given: str, tmp_path: Path) -> None:
    assert not named(told(tmp_path, train_py=with_more(before, line, given), run_sh=LINE))
