"""RM731 where nothing legacy is left: the run that converts still tells pins, and who asks for them alone gets them."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.cli.commands import main

UNUSED = "from ray.train.huggingface import TransformersPredictor\nfrom transformers import AutoTokenizer\n"
ALONE = ("--select", "RM731")


def notebook(*cells: str) -> str:
    cells_of = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": cell} for cell in cells
    ]
    language = {"kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"}}
    return json.dumps({"cells": cells_of, "metadata": language, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def told(*arguments: object) -> list[str]:
    """What a run says of pins."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code in (0, 1), result.output
    return [line for line in result.output.splitlines() if ": RM731 " in line]


NOTEBOOKS = {
    "shell line": '! pip install "accelerate==0.20.3" "ray==2.6.3"',
    "magic": "%pip install accelerate==0.20.3 ray[train]==2.6.3",
    "several lines": "!pip install \\\n  'accelerate<0.21' \\\n  'ray[air]==2.5.1'",
    "bash cell": "%%bash\npip install accelerate==0.20.3\npip install 'ray<2.7'",
}


@pytest.mark.parametrize("install", NOTEBOOKS.values(), ids=NOTEBOOKS)
def test_pins_of_a_notebook_are_told_by_the_run_that_converts_and_later_on_request(
    tmp_path: Path, install: str
) -> None:
    path = tmp_path / "serve.ipynb"
    path.write_text(notebook(install, UNUSED))
    planned = told("check", path)
    assert len(planned) == 2
    assert told(path) == planned
    assert "TransformersPredictor" not in path.read_text()
    assert told("check", path) == []  # nothing of Ray is left in the code
    assert told("check", *ALONE, path) == planned
    told("--unsafe", *ALONE, path)
    assert ">=2.51" in path.read_text() and ">=1.3" in path.read_text()
    assert told("check", *ALONE, path) == []


def test_pins_of_a_script_with_cells_are_told_by_the_run_that_converts(tmp_path: Path) -> None:
    path = tmp_path / "job.py"
    path.write_text(
        f"# Databricks notebook source\n# MAGIC %pip install ray==2.6.3\n\n# COMMAND ----------\n\n{UNUSED}"
    )
    planned = told("check", path)
    assert len(planned) == 1
    assert told(path) == planned
    assert told("check", *ALONE, path) == planned


def test_pins_beside_a_script_are_raised_on_request(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(UNUSED)
    (tmp_path / "requirements.txt").write_text("ray==2.6.3\naccelerate==0.20.3\n")
    assert len(told(tmp_path)) == 2
    assert told("check", tmp_path) == []
    assert len(told("check", *ALONE, tmp_path)) == 2
    assert len(told("check", *ALONE, tmp_path / "requirements.txt")) == 2
    told("--unsafe", *ALONE, tmp_path)
    assert (tmp_path / "requirements.txt").read_text() == "ray>=2.51\naccelerate>=1.3\n"


def test_a_runtime_environment_is_raised_on_request(tmp_path: Path) -> None:
    path = tmp_path / "job.py"
    path.write_text('import ray\nray.init(runtime_env={"pip": ["transformers==4.30.2"]})\n')
    assert told("check", path) == []
    told("--unsafe", *ALONE, path)
    assert "transformers>=5" in path.read_text()


FRIENDS = {
    "no Ray": ("from transformers import pipeline\n", "transformers==4.30.2\n"),
    "a ray of light": ("import array\nimport transformers\nxray = array.array('b')\n", "accelerate==0.20.3\n"),
    "current": ("import ray\nimport transformers\n", "ray==2.60.0\ntransformers>=5\n"),
}


@pytest.mark.parametrize(("script", "pins"), FRIENDS.values(), ids=FRIENDS)
def test_pins_of_other_projects_are_no_concern(tmp_path: Path, script: str, pins: str) -> None:
    (tmp_path / "job.py").write_text(script)
    (tmp_path / "requirements.txt").write_text(pins)
    assert told("check", *ALONE, tmp_path) == []


def test_pins_of_a_notebook_without_ray_are_no_concern(tmp_path: Path) -> None:
    path = tmp_path / "x.ipynb"
    path.write_text(notebook("!pip install transformers==4.30.2", "from transformers import pipeline"))
    assert told("check", *ALONE, path) == []


def test_pins_of_a_file_that_waits_for_others_are_told(tmp_path: Path) -> None:
    (tmp_path / "init.py").write_text("def init(train_dataset, eval_dataset=None, **config):\n    return make()\n")
    (tmp_path / "job.py").write_text(
        "# Databricks notebook source\n# MAGIC %pip install ray==2.6.3\n\n# COMMAND ----------\n\n"
        "from init import init\nfrom ray.train.huggingface import TransformersTrainer\n\n"
        "trainer = TransformersTrainer(trainer_init_per_worker=init)\n"
    )
    assert len(told("check", *ALONE, tmp_path)) == 1
    assert len(told("check", tmp_path)) == 1
