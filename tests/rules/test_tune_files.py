"""RM604: what Tune wrote into the folder of a run is looked for there."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

FITTED = """
import os
import ray
from glob import glob
from pathlib import Path

import pandas as pd
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from job import build, train_ds

trainer = TransformersTrainer(
    build, scaling_config=ScalingConfig(num_workers=2, use_gpu=True), datasets={"train": train_ds}
)
result = trainer.fit()
"""
FIRST = len(FITTED.strip().splitlines()) + 1


@pytest.mark.parametrize(
    "read",
    [
        'rows = open(f"{result.path}/result.json").readlines()',
        'frame = pd.read_csv(os.path.join(result.path, "progress.csv"))',
        'frame = pd.read_csv(result.path + "/progress.csv")',
        'frame = pd.read_csv("%s/progress.csv" % result.path)',
        'frame = pd.read_csv("{}/progress.csv".format(result.path))',
        'text = (Path(result.path) / "params.json").read_text()',
        'text = Path(result.path, "params.json").read_text()',
        'text = Path(result.path).joinpath("params.pkl").read_bytes()',
        'for events in glob(result.path + "/events.out.tfevents.*"): print(events)',
        'for events in Path(result.path).glob("*tfevents*"): print(events)',
        'if os.path.exists(os.path.join(str(result.path), "params.json")): print("there")',
    ],
)
def test_a_file_of_tune_below_the_path_of_a_result_is_told(read: str) -> None:
    outcome = converted(FITTED + read)
    assert outcome.lines("RM604", Kind.MANUAL) == [FIRST]


@pytest.mark.parametrize(
    "read",
    [
        'folder = result.path\nNAME = "result.json"\nprint(open(os.path.join(folder, NAME)).read())',
        'def rows(folder):\n    return open(folder + "/result.json").readlines()\n\n\nprint(rows(result.path))',
        'folder = Path(trainer.fit().path)\nprint(pd.read_csv(folder / "progress.csv"))',
    ],
)
def test_such_a_file_is_told_through_names(read: str) -> None:
    assert converted(FITTED + read).lines("RM604", Kind.MANUAL)


@pytest.mark.parametrize(
    "read",
    [
        'rows = open("/data/result.json").readlines()',
        'frame = pd.read_csv(os.path.join(train_ds.path, "progress.csv"))',
        'frame = pd.read_csv(os.path.join(result.path, "my_progress.csv"))',
        'with open(result.path + "/params.json", "w") as file: file.write("{}")\n'
        'print(open(result.path + "/params.json").read())',
        'Path(result.path, "params.json").write_text("{}")',
        'frame.to_csv(os.path.join(result.path, "progress.csv"))',
    ],
)
def test_other_files_are_nobody_elses(read: str) -> None:
    assert not converted(FITTED + read).lines("RM604", Kind.MANUAL)


def test_below_log_dir_that_attribute_is_told_alone() -> None:
    outcome = converted(FITTED + 'rows = open(os.path.join(result.log_dir, "result.json")).readlines()')
    assert len(outcome.lines("RM604", Kind.MANUAL)) == 1


def test_the_folder_of_a_trial_still_has_them() -> None:
    script = """
    from ray import tune
    from job import train

    best = tune.Tuner(train).fit().get_best_result(metric="loss", mode="min")
    print(open(best.path + "/result.json").read())
    """
    assert not converted(script).lines("RM604", Kind.MANUAL)


def test_a_script_of_today_has_files_of_its_own() -> None:
    script = """
    import ray.train
    from ray.train.torch import TorchTrainer
    from job import train

    result = TorchTrainer(train, scaling_config=ray.train.ScalingConfig(num_workers=2)).fit()
    print(open(result.path + "/result.json").read())
    """
    assert not converted(script).lines("RM604", Kind.MANUAL)
