"""What native loops import goes to the libraries of today with them, where --to-accelerate moves them."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.run.job import Job
from tests.projects.files import codes, convert, write
from tests.rules.test_to_accelerate import HEAD, LOOP

JOB = Job(Options(to_accelerate=True))
SCRIPT = f"from helper import optimizer_of\n{HEAD}{LOOP}"
OPTIMIZER = """
from transformers import AdamW


def optimizer_of(model):
    return AdamW(model.parameters(), lr=1e-4)
"""
GONE = """
from transformers import glue_processors


def optimizer_of(model):
    return glue_processors["mrpc"]
"""
LIBRARY = "from torch import optim\n\n\ndef optimizer_of(model):\n    return optim.SGD(model.parameters())\n"


def test_a_helper_gets_the_libraries_of_today(tmp_path: Path) -> None:
    write(tmp_path, {"train.py": SCRIPT, "helper.py": OPTIMIZER})
    summary = convert(tmp_path, job=JOB)
    assert codes(summary, Kind.CONVERTED, "helper.py") == {"RM712"}
    assert "from transformers" not in (tmp_path / "helper.py").read_text()
    assert not list(convert(tmp_path, job=JOB).findings)


@pytest.mark.parametrize("between", ["", "from inner import optimizer_of\n"])
def test_what_is_gone_of_them_is_told_in_a_helper(between: str, tmp_path: Path) -> None:
    name = "inner.py" if between else "helper.py"
    write(tmp_path, {"train.py": SCRIPT, "helper.py": between, name: GONE})
    assert codes(convert(tmp_path, job=JOB), Kind.MANUAL, name) == {"RM692"}


def test_a_helper_that_was_not_given_is_named(tmp_path: Path) -> None:
    write(tmp_path, {"train.py": SCRIPT, "helper.py": OPTIMIZER})
    assert codes(convert(tmp_path / "train.py", job=JOB), Kind.MANUAL, "train.py") == {"RM908"}
    assert "from transformers import AdamW" in (tmp_path / "helper.py").read_text()


def test_a_loop_that_goes_on_to_ray_has_them_too(tmp_path: Path) -> None:
    write(tmp_path, {"train.py": SCRIPT, "helper.py": GONE})
    summary = convert(tmp_path, job=Job(Options(to_accelerate=True, to_ray=True)))
    assert codes(summary, Kind.MANUAL, "helper.py") == {"RM692"}


@pytest.mark.parametrize(
    ("script", "helper"),
    [
        (SCRIPT, LIBRARY),
        (SCRIPT.replace("from helper import optimizer_of\n", ""), GONE),
        ("from helper import optimizer_of\nimport torch\n", GONE),
        (SCRIPT.replace("import torch\n", "import lightning\nimport torch\n", 1), OPTIMIZER),
    ],
    ids=["of today", "not imported", "no loop", "a loop that stays"],
)
def test_other_files_are_left_alone(script: str, helper: str, tmp_path: Path) -> None:
    write(tmp_path, {"train.py": script, "helper.py": helper})
    summary = convert(tmp_path, job=JOB)
    assert not [finding for finding in summary.findings if finding.path.endswith("helper.py")]
    assert (tmp_path / "helper.py").read_text() == helper.lstrip("\n")
