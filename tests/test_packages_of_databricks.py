"""RM732: what a Databricks runtime brings along stays as old as it is, unless a command asks for newer versions."""

from pathlib import Path

import pytest

from tests.test_pins import LEGACY, project, run
from tests.test_pins_of_notebooks import notebook

SOURCE = "# Databricks notebook source\n# MAGIC %pip install {}\n\n# COMMAND ----------\n\n" + LEGACY


@pytest.mark.parametrize(
    ("packages", "told"),
    [
        ("transformers accelerate", ["transformers>=5.0", "accelerate>=1.3"]),
        ("'ray[default]>=2.7' transformers accelerate>=1.3", ["ray>=2.51", "transformers>=5.0"]),
        ("'ray[default]>=2.7,<2.60' 'transformers>=5.0' accelerate>=1.3", ["ray>=2.51"]),
        ("'ray[data]==2.52' transformers==5.1.0 accelerate~=1.4 datasets", ["datasets>=2.16"]),
        ("-q 'transformers>=5.0' 'accelerate>=1.3' torch nltk", []),
        ("--upgrade transformers accelerate", []),
        ("-qU transformers accelerate", []),
    ],
)
def test_what_no_command_asks_for_is_told(tmp_path: Path, packages: str, told: list[str]) -> None:
    project(tmp_path, train_py=SOURCE.format(packages))
    lines = [line for line in run("--check", tmp_path).stdout.splitlines() if "pip leaves" in line]
    assert [": RM732 note: " in line for line in lines] == [True] * bool(told)
    for line in lines:
        assert f"Once it is converted, the code needs {', '.join(told)}: " in line
        assert "train.py:2:10:" in line


@pytest.mark.parametrize("other", ["-U transformers", "'transformers>=5.0'"])
def test_what_another_command_asks_for_is_not_kept(tmp_path: Path, other: str) -> None:
    for number, (first, second) in enumerate([(other, "transformers datasets"), ("transformers datasets", other)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        more = f"{first}\n\n# COMMAND ----------\n\n# MAGIC %pip install {second}"
        project(folder, train_py=SOURCE.format(more))
        said = run("--check", folder).stdout
        assert "pip leaves datasets as" in said and "transformers>=5.0: " not in said


def test_a_version_that_is_raised_is_asked_for(tmp_path: Path) -> None:
    project(tmp_path, train_py=SOURCE.format("ray==2.6.3 transformers==4.31.0 accelerate"))
    assert "needs accelerate>=1.3: " in run("--check", tmp_path).stdout
    run("--unsafe", tmp_path)
    assert "%pip install 'ray>=2.51' 'transformers>=5.0' accelerate\n" in (tmp_path / "train.py").read_text()


@pytest.mark.parametrize(("cell", "told"), [("dbutils.library.restartPython()", True), ("import os", False)])
def test_elsewhere_such_commands_install_the_newest(tmp_path: Path, cell: str, told: bool) -> None:
    notebook(tmp_path / "train.ipynb", "%pip install transformers accelerate", cell, LEGACY)
    assert ("pip leaves" in run("--check", tmp_path).stdout) is told
