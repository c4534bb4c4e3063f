"""Drivers in notebooks, on stdin, under questions and under verify; and converted projects that run."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from raymigrate.runtime.verify.scripts import Sources
from tests.conftest import FIXTURES
from tests.jobs import run_python
from tests.projects.files import DRIVER, INIT, codes, convert, write


def test_a_notebook_uses_the_function_of_a_file(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": lines}
        for lines in (
            ["%load_ext autoreload\n", "from model import init"],
            ["from ray.train.huggingface import TransformersTrainer\n"],
            ["trainer = TransformersTrainer(trainer_init_per_worker=init)\n", "result = trainer.fit()"],
        )
    ]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    write(tmp_path, {"model.py": INIT, "train.ipynb": json.dumps(notebook, indent=1)})
    summary = convert(tmp_path)
    after = ["".join(cell["source"]) for cell in json.loads((tmp_path / "train.ipynb").read_text())["cells"]]
    assert after[0].startswith("%load_ext autoreload\n") and "from model import init" in after[0]
    assert "trainer = init(None, None, **config)" in "\n".join(after)
    assert "TransformersTrainer" not in "\n".join(after)
    assert "def init(train_dataset" in (tmp_path / "model.py").read_text()  # the form that the notebook calls
    assert codes(summary, Kind.ERROR, "train.ipynb") == set()


def test_stdin_reads_the_files_beside_it_and_changes_none(tmp_path: Path) -> None:
    write(tmp_path, {"model.py": INIT})
    before = (tmp_path / "model.py").read_text()
    driver = DRIVER.format(imports="from model import init", init="init")
    outcome = CliRunner().invoke(main, ["-", "--stdin-filename", str(tmp_path / "train.py")], input=driver)
    assert "trainer = init(None, None, **config)" in outcome.stdout
    assert (tmp_path / "model.py").read_text() == before


def test_answers_are_asked_for_one_file_at_a_time(tmp_path: Path) -> None:
    write(tmp_path, {"model.py": INIT, "train.py": DRIVER.format(imports="from model import init", init="init")})
    before = (tmp_path / "model.py").read_text()
    CliRunner().invoke(main, ["--interactive", str(tmp_path / "train.py")], input="y\n")
    assert "trainer = init(None, None, **config)" in (tmp_path / "train.py").read_text()
    assert (tmp_path / "model.py").read_text() == before


def test_verify_spells_a_driver_anew_that_imports_its_function(tmp_path: Path) -> None:
    driver = DRIVER.format(imports="from model import init", init="init") + "make(TrainingArguments(no_cuda=True))\n"
    driver = "from transformers import TrainingArguments\n" + driver.lstrip()
    write(tmp_path / "job", {"model.py": INIT, "train.py": driver})
    sources = Sources(original=tmp_path / "job/train.py", converted=None)
    script, changed = sources.put_respelled(tmp_path / "copy")
    assert "RM701" in changed
    assert "use_cpu=True" in script.read_text()
    assert "TransformersTrainer" in script.read_text()
    assert "def init(train_dataset" in (script.parent / "model.py").read_text()


# -- real runs ------------------------------------------------------------------------------------------

RUNS = [
    ("init_in_config", "train_on_ray.py", {}, r"eval_loss: \d"),
    ("init_in_config", "train_plain.py", {}, r"plain eval_loss: \d"),
    ("src_layout", "-m paraphrase.train", {"PYTHONPATH": "src"}, r"eval_loss: \d"),
    ("src_layout", "scripts/train_cased.py", {"PYTHONPATH": "src"}, "rows: "),
    ("accelerate_settings", "train.py", {}, "2 processes, DistributedDataParallel, 4 steps"),
]


@pytest.mark.ray
@pytest.mark.rotating(2)
@pytest.mark.parametrize(("case", "script", "variables", "printed"), RUNS, ids=[f"{run[0]}-{run[1]}" for run in RUNS])
def test_a_converted_project_runs(
    tmp_path: Path,
    hub_url: str,
    monkeypatch: pytest.MonkeyPatch,
    case: str,
    script: str,
    variables: dict[str, str],
    printed: str,
) -> None:
    project = FIXTURES / "projects" / case
    folder = tmp_path / "project"
    shutil.copytree(project / "after", folder)
    for name, value in variables.items():
        monkeypatch.setenv(name, os.pathsep.join([str(folder / value), os.environ.get(name, "")]))
    code, log = run_python([sys.executable, *script.split()], hub_url, folder)
    if printed == "rows: ":  # result.metrics is None without a checkpoint, which RM605 says
        assert "NoneType" in log
        return
    assert code == 0, log[-6000:]
    assert re.search(printed, log), log[-6000:]
