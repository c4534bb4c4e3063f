"""RM402: a relative storage_path among what a RunConfig unpacks."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from tests.rules.scripts import converted

SCRIPT = """
import os
from ray import tune
from ray.air.config import RunConfig
from ray.train.torch import TorchTrainer
from job import loop, read

{lines}
{start}
"""
TRAINER = "TorchTrainer(loop, run_config=RunConfig(**given)).fit()"
TUNER = "tune.Tuner(loop, run_config=RunConfig(**given)).fit()"


def places(lines: str, start: str = TRAINER) -> list[int]:
    return converted(SCRIPT.format(lines=lines, start=start)).lines("RM402", Kind.MANUAL)


@pytest.mark.parametrize("start", [TRAINER, TUNER])
@pytest.mark.parametrize(
    "lines",
    [
        "given = {'storage_path': 'results'}",
        "given = dict(name='a', storage_path='./results')",
        "given = {'storage_filesystem': None, 'storage_path': 'results'}",
        "FOLDER = 'results'\ngiven = {}\ngiven['storage_path'] = FOLDER",
        "given = {k: v for k, v in {'storage_path': 'results', 'name': None}.items() if v is not None}",
        "given = {'name': 'a'}\ngiven.update(storage_path=os.path.join('results', 'a'))",
    ],
)
def test_it_is_told_where_it_is_written(lines: str, start: str) -> None:
    last = SCRIPT.format(lines=lines, start=start).lstrip().splitlines().index(lines.splitlines()[-1]) + 1
    outcome = converted(SCRIPT.format(lines=lines, start=start))
    assert outcome.lines("RM402", Kind.MANUAL) == [last]
    assert any("this one is relative. " in message for message in outcome.messages)


@pytest.mark.parametrize(("filesystem", "told"), [("None", True), ("read()", False)])
def test_a_path_on_a_file_system_is_none_of_this_machine(filesystem: str, told: bool) -> None:
    start = TRAINER.replace("**given", f"storage_filesystem={filesystem}, **given")
    assert bool(places("given = {'storage_path': 'bucket/results'}", start)) is told


@pytest.mark.parametrize(
    "lines",
    [
        "given = {'storage_path': '/data/results'}",
        "given = {'storage_path': 's3://bucket/results'}",
        "given = {'storage_path': os.path.abspath('results')}",
        "given = {'storage_path': 'bucket/results', 'storage_filesystem': read()}",
        "given = {'storage_path': read()}",
        "given = {'storage_path': '~/results'}",  # pyarrow puts the home in its place
        "some = {'storage_path': 'results'}\ngiven = {key: os.path.abspath(value) for key, value in some.items()}",
        "given = {'name': 'results'}",
    ],
)
def test_what_ray_takes_is_not_told(lines: str) -> None:
    assert places(lines) == []


def test_it_is_told_of_what_another_file_writes(tmp_path: Path) -> None:
    (tmp_path / "settings.py").write_text("RUN = {'storage_path': 'results'}\n")
    script = SCRIPT.format(lines="from settings import RUN as given", start=TRAINER)
    (tmp_path / "train.py").write_text(script)
    printed = CliRunner().invoke(main, ["--check", "--select", "RM402", str(tmp_path)]).output
    assert "this one is relative, in line 1 of" in printed
    assert f"train.py:{script.splitlines().index(TRAINER) + 1}:" in printed
