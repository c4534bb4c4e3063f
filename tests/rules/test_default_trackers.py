"""RM753: TrainingArguments that leave the default of report_to."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from ray.train import ScalingConfig
{imports}
from transformers import Trainer, TrainingArguments


def loop(config):
    args = TrainingArguments("out", {arguments})
    Trainer(model=make(), args=args, train_dataset=rows).train()


{trainer}(loop, scaling_config=ScalingConfig(num_workers=2)).fit()
"""
TORCH = "from ray.train.torch import TorchTrainer"
ACCELERATE = "from ray.train.huggingface.accelerate import AccelerateTrainer"
TRANSFORMERS = "from ray.train.huggingface import TransformersTrainer"


def notes(imports: str, arguments: str) -> list[int]:
    trainer = imports.rpartition(" ")[2]
    return converted(SCRIPT.format(imports=imports, arguments=arguments, trainer=trainer)).lines("RM753", Kind.NOTE)


@pytest.mark.parametrize(
    ("imports", "arguments"),
    [
        (TORCH, 'evaluation_strategy="epoch"'),
        (TORCH, "no_cuda=True, per_device_train_batch_size=8"),
        (ACCELERATE, "learning_rate=0.1"),
    ],
)
def test_what_was_written_for_transformers_4_logged(imports: str, arguments: str) -> None:
    assert notes(imports, arguments) == [7]


@pytest.mark.parametrize(
    ("imports", "arguments"),
    [
        (TORCH, 'eval_strategy="epoch"'),  # may be for transformers 5
        (TORCH, 'evaluation_strategy="epoch", report_to="none"'),
        (TORCH, 'evaluation_strategy="epoch", **config'),
        (TRANSFORMERS, 'evaluation_strategy="epoch"'),  # which removed all trackers
    ],
)
def test_else_there_is_nothing_to_say(imports: str, arguments: str) -> None:
    assert not notes(imports, arguments)
