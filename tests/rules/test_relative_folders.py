"""RM402: the folder of an experiment that is read: a relative one becomes absolute, others are left alone."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import argparse
import os
from pathlib import Path
from ray import tune
from ray.tune import ExperimentAnalysis
from ray.tune.tuner import Tuner

BASE = "results"
options = argparse.ArgumentParser()
options.add_argument("--runs", default="runs")
options.add_argument("--name")
given = options.parse_args()


def train(config):
    tune.report({{"loss": 1}})


{read}
"""


@pytest.mark.parametrize(
    ("read", "after"),
    [
        ("ExperimentAnalysis('./results/x')", "ExperimentAnalysis(os.path.abspath('./results/x'))"),
        (
            "ExperimentAnalysis(experiment_checkpoint_path=BASE, default_metric='a')",
            "ExperimentAnalysis(experiment_checkpoint_path=os.path.abspath(BASE), default_metric='a')",
        ),
        ("Tuner.restore(f'{BASE}/x', train)", "Tuner.restore(os.path.abspath(f'{BASE}/x'), train)"),
        (
            "tune.Tuner.restore(path='x', trainable=train)",
            "tune.Tuner.restore(path=os.path.abspath('x'), trainable=train)",
        ),
        ("print(tune.Tuner.can_restore('x'))", "print(tune.Tuner.can_restore(os.path.abspath('x')))"),
        (
            "Tuner.restore(os.path.join(BASE, given.name), train)",
            "Tuner.restore(os.path.abspath(os.path.join(BASE, given.name)), train)",
        ),
    ],
)
def test_a_relative_folder_that_is_read_becomes_absolute(read: str, after: str) -> None:
    outcome = converted(SCRIPT.format(read=read))
    assert after in outcome.text.splitlines()
    assert outcome.lines("RM402", Kind.CONVERTED)
    assert converted(outcome.text).text == outcome.text


@pytest.mark.parametrize(
    "folder",
    [
        "'/mnt/x'",
        "'s3://bucket/x'",
        "'~/ray_results/x'",
        "os.path.expanduser('~/ray_results/x')",
        "os.path.join(os.getcwd(), 'x')",
        "str(Path.home() / 'x')",
        "given.name",
        "tune.Tuner(train).fit().experiment_path",
    ],
)
@pytest.mark.parametrize("read", ["ExperimentAnalysis({})", "Tuner.restore({}, train)", "Tuner.can_restore({})"])
def test_a_folder_that_is_absolute_or_not_seen_stays(read: str, folder: str) -> None:
    outcome = converted(SCRIPT.format(read=read.format(folder)))
    assert read.format(folder) in outcome.text
    assert "RM402" not in {code for code, _, _ in outcome.findings}


@pytest.mark.parametrize(
    "read",
    [
        "ExperimentAnalysis('bucket/x', storage_filesystem=given.files)",
        "Tuner.restore('bucket/x', train, storage_filesystem=given.files)",
        "Tuner.can_restore('bucket/x', given.files)",
        "Tuner.can_restore('bucket/x', storage_filesystem=given.files)",
    ],
)
def test_a_folder_on_a_file_system_stays(read: str) -> None:
    outcome = converted(SCRIPT.format(read=read))
    assert read in outcome.text.splitlines()
    assert "RM402" not in {code for code, _, _ in outcome.findings}


@pytest.mark.parametrize("before", ["", "files = None\n"])
def test_no_file_system_is_none(before: str) -> None:
    given = "files" if before else "None"
    outcome = converted(SCRIPT.format(read=f"{before}Tuner.can_restore('x', {given})"))
    assert f"Tuner.can_restore(os.path.abspath('x'), {given})" in outcome.text


def test_a_folder_that_is_relative_by_default_is_told() -> None:
    outcome = converted(SCRIPT.format(read="Tuner.restore(given.runs if given.name else '/mnt/x', train)"))
    assert outcome.lines("RM402", Kind.MANUAL)
    assert any("Tuner.restore() raises an ArrowInvalid for a relative path" in text for text in outcome.messages)


def test_other_objects_that_are_restored_are_left_alone() -> None:
    script = "from ray import tune\nfrom saver import Tuner\n\nTuner.restore('x')\nprint(tune)\n"
    assert converted(script).text == script
