"""Messages that name a line of another file name the one where it stands once both are written."""

import json
import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from raymigrate.base.findings import Finding, Kind, named_line
from raymigrate.base.options import Options
from raymigrate.run.job import Job
from raymigrate.run.outcome import Summary
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


CHECKPOINT = "def load(checkpoint):\n    return checkpoint.get_model(1)\n\n\ndef build"  # gets a comment of its own
PLAIN, CELLS, NOTEBOOK = ".py", "# %%", ".ipynb"


def stored(path: Path, text: str, form: str) -> Path:
    """A script in one of the forms that a file can have; a blank line between two sets cells off."""
    path = path.with_suffix(".ipynb" if form == NOTEBOOK else ".py")
    cells = text.lstrip("\n").split("\n\n\n" if "def " in text else "\n\n")
    if form == NOTEBOOK:
        told = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells]
        text = json.dumps({"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": told}, indent=1)
    elif form == CELLS:
        text = "".join(f"# %%\n{cell}\n" for cell in cells)
    path.write_text(text)
    return path


@pytest.mark.parametrize("form", [PLAIN, CELLS, NOTEBOOK])
@pytest.mark.parametrize(("module", "script"), [("factory", "run"), ("zfactory", "arun")])
def test_comments_name_final_lines_at_once_and_another_run_changes_nothing(
    tmp_path: Path, form: str, module: str, script: str
) -> None:
    factory = stored(tmp_path / module, FACTORY.replace("def build", CHECKPOINT), PLAIN if form == NOTEBOOK else form)
    run = stored(tmp_path / script, RUN.format(module=module), form)
    job = Job(Options(todo=True))
    first = convert(tmp_path, job=job)
    texts = factory.read_text(), run.read_text()
    made = line_of(factory, "return RunConfig(name")
    assert f"is made in line {made} of {factory}." in texts[1]
    where = f"line {line_of(run, 'tune.Tuner(')}" if form != NOTEBOOK else "cell 2, line 3"
    assert form == NOTEBOOK or f"and {where} of {run} gives this to one." in texts[0]
    second = convert(tmp_path, job=job)
    assert (factory.read_text(), run.read_text()) == texts
    assert not second.changed and not any(project.converted for project in second.projects)
    assert lines_named(first) == lines_named(second)


def lines_named(summary: Summary) -> set[str]:
    return {found.message for found in summary.findings if " line " in found.message}


def test_a_comment_follows_when_only_the_other_file_changes(tmp_path: Path) -> None:
    write(tmp_path, {"factory.py": FACTORY, "run.py": RUN.format(module="factory")})
    job = Job(Options(todo=True))
    convert(tmp_path, job=job)
    factory, run = tmp_path / "factory.py", tmp_path / "run.py"
    factory.write_text(
        "from ray.air.checkpoint import Checkpoint\n" + factory.read_text().replace("def run", f"{USER}def run")
    )
    convert(tmp_path, job=job)
    assert f"in line {line_of(factory, 'return RunConfig(name')} of {factory}." in run.read_text()
    assert not convert(tmp_path, job=job).changed


USER = "def user():\n    return Checkpoint.from_dict({})\n\n\n"


def test_a_line_behind_the_name_of_a_file_and_one_of_it(tmp_path: Path) -> None:
    takers = "from ray.air import session\nimport os\n\n\ndef report():\n    session.report({})\n\n\n"
    write(
        tmp_path,
        {"helpers.py": "from ray.train.trainer import Trainer\n", "a.py": f"{takers}from helpers import Trainer\n"},
    )
    [told] = [found for found in convert(tmp_path).findings if found.code == "RM692"]
    assert f"a.py takes Trainer from here (line {line_of(tmp_path / 'a.py', 'from helpers')})." in told.message


def test_what_a_comment_silences_gets_no_advice(tmp_path: Path) -> None:
    run = RUN.format(module="factory").replace(".fit()", ".fit()  # raymigrate: skip ours")
    write(tmp_path, {"factory.py": FACTORY, "run.py": run})
    [told] = [found for found in convert(tmp_path).findings if "is made in line" in found.message]
    assert (told.code, told.kind, told.advice) == ("RM411", Kind.SKIPPED, "")
    made = line_of(tmp_path / "factory.py", "RunConfig(name")
    assert f"is made in line {made} of {tmp_path / 'factory.py'}." in told.message


def test_a_comment_names_the_old_line_of_a_file_that_may_not_be_written(tmp_path: Path) -> None:
    write(tmp_path, {"other/factory.py": FACTORY, "jobs/run.py": RUN.format(module="factory")})
    link = tmp_path / "jobs/factory.py"
    link.symlink_to("../other/factory.py")
    convert(tmp_path / "jobs", job=Job(Options(todo=True)))
    run = (tmp_path / "jobs/run.py").read_text()
    assert link.read_text() == FACTORY.lstrip("\n")
    assert f"is made in line {line_of(link, 'return RunConfig(name')} of {link}." in run


def test_new_words_of_a_finding_are_not_those_that_it_came_with() -> None:
    line = named_line("b.py", 3)
    came = Finding("RM411", Kind.MANUAL, f"Made in {line} of b.py.", f"Look at {line}.")
    assert (came.message, came.advice) == ("Made in line 3 of b.py.", "Look at line 3.")
    other = replace(came, advice="Another.")
    assert (other.message, other.advice, other.templates[1]) == (came.message, "Another.", "Another.")
    assert replace(other, message="Another.").templates == ()
    again = replace(came, message=f"{came.template.rstrip('.')}; not changed.")
    assert again.message == "Made in line 3 of b.py; not changed."
    assert again.words == "Made in b.py of b.py; not changed."
    assert pickle.loads(pickle.dumps(came)) == came == replace(came, line=1)


TRIED = """
try:
    from ray.train.trainer import Trainer
except ImportError:
    Trainer = None

from ray.train.huggingface import TransformersTrainer
from transformers import Trainer as T, TrainingArguments


def init(train_dataset, eval_dataset=None, **config):
    return T(make_model(), TrainingArguments("out", report_to="none"), train_dataset=train_dataset)


TransformersTrainer(init, datasets=data).fit()

Trainer(backend="torch").start()
"""
TAKEN = """
from ray.train.huggingface import TransformersTrainer
from transformers import Trainer, TrainingArguments


def init(train_dataset, eval_dataset=None, **config):
    s = eval_dataset and config.pop("evaluation_strategy")
    return Trainer(make_model(), TrainingArguments("out", **config), train_dataset=train_dataset)


given = {"evaluation_strategy": "steps", "logging_steps": 2}

TransformersTrainer(init, trainer_init_config=given, datasets=read()).fit()
"""
LOOP = """
import torch


def other(model, loader):
    for batch in loader:
        model(batch).sum().backward()  # two


model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for batch in torch.utils.data.DataLoader(read()):  # one
    loss = model(batch).sum()
    loss.backward()
    optimizer.step()
"""
TRAINED = """
from transformers import Trainer

trainer = Trainer(model)

trainer.train()  # one

trainer.train()  # two
"""
OWN = {
    "gone name": (TRIED, {}, "and {} fails.", ("Trainer(backend",)),
    "taken out": (TAKEN, {}, "unless {} takes it out;", ('config.pop("evaluation',)),
    "two loops": (LOOP, {"to_accelerate": True}, "two trainings in one script ({});", ("# two", "# one")),
    "two trainings": (TRAINED, {"to_ray": True}, "One Trainer trains twice ({});", ("# one", "# two")),
}


@pytest.mark.parametrize("form", [PLAIN, CELLS, NOTEBOOK])
@pytest.mark.parametrize(("text", "options", "words", "named"), OWN.values(), ids=OWN)
def test_a_line_of_the_own_file(
    tmp_path: Path, text: str, options: dict[str, bool], words: str, named: tuple[str, ...], form: str
) -> None:
    path = stored(tmp_path / "train", text, form)
    job = Job(Options(todo=True, **options))
    first = convert(tmp_path, job=job)
    after = path.read_text()
    said = words.format(where(path, named, form))
    assert after.count("TODO(raymigrate): RM") == after.count(said) == 1
    second = convert(tmp_path, job=job)
    assert not second.changed and path.read_text() == after
    assert [[f.message for f in found.findings if said in f.message] for found in (first, second)] == [
        [message] for message in {f.message for f in second.findings if said in f.message}
    ] * 2


def where(path: Path, named: tuple[str, ...], form: str) -> str:
    """How a message names the lines of a file that hold these words."""
    cells = json.loads(path.read_text())["cells"] if form == NOTEBOOK else [{"source": path.read_text()}]
    lines = [
        (cell, number, line)
        for cell, code in enumerate(("".join(cell["source"]) for cell in cells), 1)
        for number, line in enumerate(code.splitlines(), 1)
    ]
    places = [next((cell, number) for cell, number, line in lines if word in line) for word in named]
    if form == NOTEBOOK:
        return "; ".join(f"cell {cell}, line {line}" for cell, line in places)
    return f"line{'s' if len(places) > 1 else ''} {', '.join(str(line) for _, line in places)}"
