"""RM483: what a training function writes into its working directory."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from accelerate import Accelerator
from accelerate.utils import ProjectConfiguration
from ray.air import ScalingConfig, session
from ray.train.huggingface import AccelerateTrainer


def loop(config):
    accelerator = {made}
    accelerator.init_trackers("run")
    session.report({{"loss": 1.0}})


trainer = AccelerateTrainer(loop, accelerate_config={{}}, scaling_config=ScalingConfig(num_workers=2, use_gpu=True))
trainer.fit()
"""


@pytest.mark.parametrize(
    "made",
    [
        'Accelerator(log_with="tensorboard", project_dir="logs")',
        'Accelerator(log_with="tensorboard", logging_dir="./logs")',
        'Accelerator(project_config=ProjectConfiguration(project_dir="runs/one"))',
        'Accelerator(project_config=ProjectConfiguration("/runs", logging_dir="logs"))',
    ],
)
def test_a_relative_folder_of_accelerate_is_told(made: str) -> None:
    assert converted(SCRIPT.format(made=made)).lines("RM483", Kind.MANUAL)


@pytest.mark.parametrize(
    "made",
    [
        "Accelerator()",
        'Accelerator(project_dir="/shared/logs")',
        'Accelerator(project_dir="~/logs")',
        'Accelerator(project_dir=config["folder"])',
        'make(project_dir="logs")',
    ],
)
def test_other_folders_are_not(made: str) -> None:
    assert not converted(SCRIPT.format(made=made)).lines("RM483", Kind.MANUAL)
