"""RM604: results of trainers that another file keeps in a table, wherever they are taken out."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from raymigrate.facts.projects.project import Project
from raymigrate.facts.ray_train.results import trainers_of
from raymigrate.facts.syntax.module import Module
from tests.projects.files import codes, convert, write

REGISTRY = """
from ray.train.huggingface import AccelerateTrainer
from jobs import loop, load

REGISTRY = {"a": AccelerateTrainer(loop, accelerate_config={}), "b": AccelerateTrainer(loop, accelerate_config={})}
trainers = {}
trainers["x"] = AccelerateTrainer(loop, accelerate_config={})
runs = [AccelerateTrainer(loop, accelerate_config={})]
mixed = [AccelerateTrainer(loop, accelerate_config={}), load()]


def build():
    return AccelerateTrainer(loop, accelerate_config={})


MAKERS = {"a": build, "b": load}
"""
TAKEN = [
    'result = REGISTRY["a"].fit()',
    'result = REGISTRY.get("b").fit()',
    "for one in trainers.values():\n    result = one.fit()",
    "for name, one in registry.trainers.items():\n    result = one.fit()",
    "for one in runs:\n    result = one.fit()",
    "result = [one.fit() for one in runs][0]",
    'result = MAKERS["a"]().fit()',
]
OTHERS = ["for one in mixed:\n    result = one.fit()", 'result = MAKERS["b"]().fit()', "result = load().fit()"]


def classes(folder: Path, taken: str) -> set[str | None]:
    head = "import registry\nfrom registry import REGISTRY, MAKERS, runs, trainers, mixed, load\n"
    write(folder, {"registry.py": REGISTRY, "main.py": f"{head}{taken}\nprint(result.log_dir)\n"})
    path = folder / "main.py"
    module = Module(path.read_text(), str(path), Project())
    return trainers_of(module, next(iter(module.attributes("log_dir"))).value)


@pytest.mark.parametrize("taken", TAKEN)
def test_they_are_of_the_class_that_makes_them(tmp_path: Path, taken: str) -> None:
    assert classes(tmp_path, taken) == {"ray.train.huggingface.AccelerateTrainer"}


@pytest.mark.parametrize("taken", OTHERS)
def test_what_may_be_something_else_is_not_sure(tmp_path: Path, taken: str) -> None:
    assert None in classes(tmp_path, taken)


def test_what_is_gone_from_them_is_converted(tmp_path: Path) -> None:
    classes(tmp_path, TAKEN[2])
    summary = convert(tmp_path)
    assert codes(summary, Kind.CONVERTED, "main.py") == {"RM604"}
    assert not codes(summary, Kind.MANUAL, "main.py")
