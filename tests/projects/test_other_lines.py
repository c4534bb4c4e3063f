"""Messages that name a line of another file name the one where it stands once both are written."""

from pathlib import Path

import pytest

from raymigrate.base.options import Options
from raymigrate.run.job import Job
from tests.projects.files import INIT, convert, write

FACTORY = """
from ray.air import RunConfig
from ray.train.huggingface import TransformersTrainer
from transformers import Trainer, TrainingArguments


def init(train_dataset, eval_dataset=None, **config):
    return Trainer(make_model(), TrainingArguments("out", report_to="none"), train_dataset=train_dataset)


def build(data):
    return TransformersTrainer(init, datasets=data)


def run_config():
    return RunConfig(name="x", local_dir="/data")
"""
RUN = """
from ray import tune
from {module} import build, run_config

grid = tune.Tuner(build(data), run_config=run_config()).fit()
"""


def lines(folder: Path, name: str, other: str, *, write: bool = True) -> set[int]:
    """The lines of another file that are named in what is said of a file."""
    found = convert(folder, job=Job(Options(), write=write)).findings
    messages = [f.message for f in found if Path(f.path).name == name and f"of {folder / other}" in f.message]
    return {int(message.partition(" of ")[0].rpartition(" line ")[2]) for message in messages}


def line_of(path: Path, word: str) -> int:
    return next(number for number, line in enumerate(path.read_text().splitlines(), 1) if word in line)


@pytest.mark.parametrize("module", ["factory", "factory_2", "jobs.factory"])
def test_a_line_of_a_file_that_changes_too_is_the_new_one(tmp_path: Path, module: str) -> None:
    other = f"{module.replace('.', '/')}.py"
    write(tmp_path, {other: FACTORY, "run.py": RUN.format(module=module), "factory_3.py": INIT})
    made = "RunConfig(name"
    assert lines(tmp_path, "run.py", other, write=False) == {line_of(tmp_path / other, made)}
    first = line_of(tmp_path / other, made)
    assert lines(tmp_path, "run.py", other) == {line_of(tmp_path / other, made)} != {first}
    assert lines(tmp_path, "run.py", other) == {line_of(tmp_path / other, made)}


def test_a_line_of_a_file_that_stays_is_the_same(tmp_path: Path) -> None:
    write(tmp_path, {"factory.py": FACTORY, "run.py": RUN.format(module="factory")})
    line = line_of(tmp_path / "run.py", "Tuner(")
    assert lines(tmp_path, "factory.py", "run.py") == {line} == lines(tmp_path, "factory.py", "run.py")


def test_a_comment_names_the_new_line(tmp_path: Path) -> None:
    write(tmp_path, {"factory.py": FACTORY, "run.py": RUN.format(module="factory")})
    convert(tmp_path, job=Job(Options(todo=True)))
    line = line_of(tmp_path / "factory.py", "RunConfig(name")
    assert f"in line {line} of {tmp_path / 'factory.py'}." in (tmp_path / "run.py").read_text()
