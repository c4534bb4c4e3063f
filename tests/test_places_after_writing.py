"""A finding of the old text is named where it stands in the new one."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Finding, Kind
from raymigrate.cli import main
from raymigrate.run.outcome import FileResult

SAME = "get_model() is gone, if this is a checkpoint."


def found(message: str, line: int, column: int = 1) -> Finding:
    return Finding("RM601", Kind.MANUAL, message, "", line, column)


def places(findings: list[Finding], left: list[Finding]) -> list[tuple[int, int]]:
    result = FileResult("train.py", findings, "a\nb\nc\nd\n", True, "new\na\nb\nc\nd\n", left).written()
    return [(finding.line, finding.column) for finding in result.findings]


def test_a_finding_goes_with_its_line_and_not_with_an_equal_one_elsewhere() -> None:
    old = [found("get_model() is gone.", 2), found(SAME, 4)]
    assert places(old, [found(SAME, 3), found(SAME, 5)]) == [(3, 1), (5, 1)]


def test_findings_of_lines_that_change_are_matched_in_their_order() -> None:
    old = [found(SAME, 1, 9), found(SAME, 1, 20)]
    assert places(old, [found(SAME, 4, 2), found(SAME, 5, 3)]) == [(4, 2), (5, 3)]


def test_what_a_second_run_does_not_say_stays_by_its_line() -> None:
    assert places([found(SAME, 2), found(SAME, 3)], [found(SAME, 4)]) == [(3, 1), (4, 1)]
    assert places([found(SAME, 2)], []) == [(3, 1)]


CELLS = [
    "from ray.air.checkpoint import Checkpoint",  # goes
    "import ray",
    "from ray.air.config import RunConfig, ScalingConfig",
    "workers = 2",
    "from ray.train.torch import TorchTrainer",
    "def train(config):\n    print(config)",
    "trainer = TorchTrainer(train, scaling_config=ScalingConfig(workers), run_config=RunConfig(verbose=1))",
]


@pytest.mark.parametrize("name", ["job.ipynb", "job.py"])
def test_a_finding_stays_in_its_cell_when_cells_before_it_go(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(notebook() if name.endswith(".ipynb") else "".join(f"# %%\n{cell}\n" for cell in CELLS))
    printed = CliRunner().invoke(main, ["--verbose", str(path)]).stdout
    lines = cells_of(path)
    assert not any("Checkpoint" in line for cell in lines.values() for line in cell)
    found = {code: lines[int(cell or 0)][int(line) - 1] for cell, line, code in places_of(printed)}
    assert found["RM301"] == "from ray.train import ScalingConfig"
    assert found["RM401"].startswith("trainer = TorchTrainer(")


def notebook() -> str:
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in CELLS]
    return json.dumps({"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": cells}, indent=1)


def cells_of(path: Path) -> dict[int, list[str]]:
    """The lines of each cell of a notebook by its number, or those of a script."""
    if path.suffix == ".py":
        return {0: path.read_text().split("\n")}
    content = json.loads(path.read_text())
    return {number: "".join(cell["source"]).split("\n") for number, cell in enumerate(content["cells"], 1)}


def places_of(printed: str) -> list[tuple[str, str, str]]:
    return re.findall(r"^[^ ]+:(?:cell (\d+):)?(\d+):\d+: (RM\d+) ", printed, re.MULTILINE)


def test_a_line_that_changes_is_found_behind_the_lines_that_come_before_it(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(DRIVER)
    printed = CliRunner().invoke(main, ["--verbose", str(path)]).stdout
    lines = path.read_text().split("\n")
    [line] = [line for _, line, code in places_of(printed) if code == "RM101"]
    assert lines[int(line) - 1] == "trainer = TorchTrainer("


DRIVER = """import ray
from ray.train.huggingface import TransformersTrainer
from transformers import AutoModel, Trainer, TrainingArguments


def init(train_dataset, eval_dataset=None, **config):
    return Trainer(AutoModel.from_pretrained("x"), TrainingArguments("out"), train_dataset=train_dataset)


def datasets():
    return {"train": ray.data.range(8)}


trainer = TransformersTrainer(
    init,
    datasets=datasets(),
)
"""


HALF_SEEN = DRIVER.replace("    datasets=datasets(),\n", "    datasets={'train': rows},\n").replace(
    "def datasets():", "rows = ray.data.range(8)\n\n\ndef datasets():"
)
READ = f"{HALF_SEEN}result = trainer.fit()\ncheckpoint = result.checkpoint\nmodel = checkpoint.get_model(load())\n"
ALONE = """from ray.air import Checkpoint


def load(checkpoint, model):
    return checkpoint.get_model(model), Checkpoint("/a").to_dict()
"""
TUNED = f"""from ray import tune
{HALF_SEEN}trainer.fit()
trainer = TransformersTrainer(init, datasets={{'train': rows}})
tune.Tuner(trainer, param_space={{"trainer_init_config": {{"lr": tune.choice([1e-4, 1e-3])}}}}).fit()
"""


@pytest.mark.parametrize("script", [DRIVER, READ, ALONE, TUNED], ids=["driver", "get_model", "checkpoint", "Tuner"])
@pytest.mark.parametrize("other", ["--diff", "--check"])
def test_every_mode_tells_the_same_and_nothing_twice(tmp_path: Path, script: str, other: str) -> None:
    """Nothing is said of what the run has written itself."""
    path = tmp_path / "train.py"
    path.write_text(script)
    found = []
    for options in ([other], []):
        printed = CliRunner().invoke(main, [*options, "--output-format", "json", str(path)])
        told = json.loads(printed.stderr if "--diff" in options else printed.stdout)["findings"]
        found.append(sorted((one["code"], one["kind"], one["message"]) for one in told))
        places = [(one["code"], one["line"], one["column"], one["message"]) for one in told]
        assert len(places) == len(set(places))
    assert found[0] == found[1] != []
