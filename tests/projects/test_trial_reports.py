"""RM412: what a scheduler counts where the arguments of the Trainer stand in another file."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import DRIVER, INIT, codes, convert, write

TUNED = """
from ray import tune
from ray.air.config import ScalingConfig

tuner = tune.Tuner(
    trainer, tune_config=tune.TuneConfig(scheduler=tune.schedulers.ASHAScheduler(), metric="loss", mode="min")
)
print(tuner.fit().get_best_result().metrics)
"""
SAME = "logging_strategy='epoch', save_strategy='epoch', evaluation_strategy='epoch'"


@pytest.mark.parametrize(
    ("arguments", "own", "told"),
    [
        (SAME, "", False),
        ("logging_steps=5, save_steps=5", "", False),
        ("logging_steps=5", "", True),
        (SAME, "TrainingArguments('out', logging_steps=5)", True),
    ],
)
def test_a_trainer_of_another_file_may_save_as_often_as_it_logs(
    tmp_path: Path, arguments: str, own: str, told: bool
) -> None:
    init = INIT.replace('report_to="wandb"', arguments)
    driver = DRIVER.format(imports="from model import init\nfrom transformers import TrainingArguments", init="init")
    driver = driver.replace('{"lr": 1e-3}', '{"lr": 1e-3}, scaling_config=ScalingConfig(num_workers=2)')
    head, tail = driver.split("trainer = ")
    write(
        tmp_path, {"model.py": init, "train.py": f"{head}{own}\n{TUNED.replace('tuner =', f'trainer = {tail}tuner =')}"}
    )
    assert ("RM412" in codes(convert(tmp_path), Kind.MANUAL, "train.py")) == told
