"""RM419: trials that Tune stops, where Ray's dashboard may be missing."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from tests.rules.scripts import converted

SCRIPT = """\
import ray
from ray import tune
from ray.air import RunConfig, ScalingConfig, session
from ray.train.torch import TorchTrainer
from ray.tune import TuneConfig, Tuner
from ray.tune.schedulers import ASHAScheduler, FIFOScheduler, PopulationBasedTraining


def loop(config):
    session.report({{"loss": config["lr"]}})


def search(limit=None, seconds=None):
    trainer = TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=1))
    {before}
    tuner = Tuner(trainer, param_space={{"train_loop_config": {{"lr": tune.grid_search([1, 2])}}}}, {arguments})
    print(tuner.fit().get_best_result("loss", "min").metrics["loss"])


search(4)
"""
STOPPED = 'run_config=RunConfig(stop={"training_iteration": 2})'


def told(before: str = "pass", arguments: str = "") -> list[int]:
    return converted(SCRIPT.format(before=before, arguments=arguments)).lines("RM419", Kind.MANUAL)


@pytest.mark.parametrize(
    ("before", "arguments"),
    [
        ("pass", STOPPED),
        ("config = RunConfig(stop=lambda name, result: True)", "run_config=config"),
        ("config = RunConfig(**{'stop': {'loss': 1}})", "run_config=config"),
        ("config = RunConfig(); config.stop = {'loss': 1}", "run_config=config"),
        ("pass", "run_config=RunConfig(stop=limit)"),
        ("pass", "tune_config=TuneConfig(scheduler=ASHAScheduler())"),
        ("pass", "tune_config=TuneConfig(scheduler=PopulationBasedTraining())"),
        ("pass", "tune_config=tune.TuneConfig(scheduler='asha')"),
        ("pass", "tune_config=tune.TuneConfig(time_budget_s=3600)"),
        ("trainer = trainer or search()", "tune_config=TuneConfig(scheduler=ASHAScheduler())"),
        ("tune.run(trainer, stop={'loss': 1})", ""),
        ("tune.run(run_or_experiment=trainer, scheduler=ASHAScheduler())", ""),
        ("tune.run(trainer.as_trainable(), scheduler=ASHAScheduler())", ""),
        ("ray.init()", STOPPED),
        ("ray.init(include_dashboard=False)  # in ray[default] too", STOPPED),
    ],
)
def test_what_stops_trials_is_told(before: str, arguments: str) -> None:
    assert len(told(before, arguments)) == 1


@pytest.mark.parametrize(
    ("before", "arguments"),
    [
        ("pass", ""),
        ("pass", "run_config=RunConfig(name='a'), tune_config=TuneConfig(metric='loss', mode='min')"),
        ("pass", "run_config=RunConfig(stop=None), tune_config=TuneConfig(scheduler=None, time_budget_s=None)"),
        ("pass", "run_config=RunConfig(stop={})"),
        ("pass", "run_config=RunConfig(stop=seconds)"),
        ("pass", "tune_config=TuneConfig(scheduler=FIFOScheduler())"),
        ("pass", "tune_config=TuneConfig(scheduler='fifo')"),
        ("other = RunConfig(stop={'loss': 1})", ""),
        ("Tuner(print, run_config=RunConfig(stop={'loss': 1}))", ""),
        ("tune.run(print, stop={'loss': 1})", ""),
        ("ray.init(include_dashboard=True)", STOPPED),
        ("ray.init(include_dashboard=False)", ""),
        ("'''pip install -U \"ray[default,tune]\"'''", STOPPED),
    ],
)
def test_trials_that_end_by_themselves_or_beside_a_dashboard_are_left_alone(before: str, arguments: str) -> None:
    assert not told(before, arguments)


def test_a_second_run_tells_nothing() -> None:
    once = converted(SCRIPT.format(before="pass", arguments=STOPPED)).text
    assert "train_driver" in once
    assert not converted(once).findings


@pytest.mark.parametrize(
    ("name", "text", "is_told"),
    [
        ("requirements.txt", "ray[tune]==2.6.3\n", True),
        ("requirements.txt", "ray[train]>=2.51  # not ray[default]\n", True),
        ("requirements.txt", "ray[air]==2.6.3\n", False),
        ("requirements.txt", "ray[tune, default]==2.6.3\n", False),
        ("requirements.txt", "aiohttp==3.8\nopencensus==0.11.2\n    # via ray\nray==2.6.3\n", False),
        ("requirements.txt", "opencensus-proto==0.1\nray[tune]==2.6.3\n", True),
        ("constraints.txt", "opencensus==0.11.4\n", True),
        ("pyproject.toml", '[project]\ndependencies = ["ray[all]>=2.6"]\n', False),
        ("pyproject.toml", '[tool.poetry.dependencies]\nray = {version = "2.6.3", extras = ["tune"]}\n', True),
        ("pyproject.toml", '[tool.poetry.dependencies]\nray = {version = "2.6.3", extras = ["default"]}\n', False),
        ("environment.yml", "dependencies:\n  - ray-tune=2.6\n", True),
        ("environment.yml", "dependencies:\n  - ray-default=2.6\n", False),
        ("Dockerfile", "FROM rayproject/ray-ml:2.6.3-gpu\n", False),
        ("Dockerfile", "FROM python:3.10\nRUN pip install ray[tune]\n", True),
    ],
)
def test_lists_beside_the_script_tell_of_the_dashboard(tmp_path: Path, name: str, text: str, is_told: bool) -> None:
    (tmp_path / "search.py").write_text(SCRIPT.format(before="pass", arguments=STOPPED))
    (tmp_path / name).write_text(text)
    output = CliRunner().invoke(main, ["--check", str(tmp_path)]).output
    assert ("RM419" in output) == is_told


@pytest.mark.parametrize(("extras", "is_told"), [("default,tune", False), ("tune", True)])
def test_a_cell_that_installs_ray_tells_of_the_dashboard(tmp_path: Path, extras: str, is_told: bool) -> None:
    cells = [f'%pip install "ray[{extras}]==2.6.3"', SCRIPT.format(before="pass", arguments=STOPPED)]
    of_code = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    book = {
        "cells": [{**of_code, "source": cell} for cell in cells],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 4,
    }
    (tmp_path / "search.ipynb").write_text(json.dumps(book))
    output = CliRunner().invoke(main, ["--check", str(tmp_path)]).output
    assert ("RM419" in output) == is_told


def test_prose_installs_nothing() -> None:
    prose = [
        "# https://docs.ray.io/en/latest/ray-air/tuner.html, or pull rayproject/ray",
        "NOTE = 'see ray-llm, ray[default]'",
    ]
    before = "\n    ".join(prose)
    assert told(before, STOPPED)


def test_what_stops_trials_is_seen_in_other_files(tmp_path: Path) -> None:
    config = "from ray.air import RunConfig\n\n\ndef config():\n    return RunConfig(stop={'loss': 1})\n"
    (tmp_path / "configs.py").write_text(config)
    script = "from configs import config\n" + SCRIPT.format(before="pass", arguments="run_config=config()")
    (tmp_path / "search.py").write_text(script)
    assert "RM419" in CliRunner().invoke(main, ["--check", str(tmp_path)]).output
