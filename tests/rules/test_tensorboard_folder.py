"""RM702 for logging_dir= of TrainingArguments: where TensorBoard writes today is told, also after a run."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from ray.train.torch import TorchTrainer
from transformers import TrainingArguments

args = TrainingArguments("out", logging_dir="logs"{more})
"""


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (', report_to="tensorboard"', True),
        (', report_to=["wandb", "tensorboard"]', True),
        (', report_to="all"', True),
        (", report_to=None", True),
        (', report_to=("tensorboard", given)', True),
        (', report_to=("wandb", given)', False),
        (', report_to=["Ellipsis"]', False),
        (', report_to=["tensorboard", "wandb"] if wandb else ["tensorboard"]', True),
        (', report_to="all" if wandb else "tensorboard"', True),
        (', report_to=["wandb"] if wandb else ["tensorboard"]', False),
        (', report_to="wandb"', False),
        (', report_to="none"', False),
        (", report_to=[]", False),
        ("", False),
    ],
)
def test_another_folder_of_tensorboard_is_noted(more: str, told: bool) -> None:
    outcome = converted(SCRIPT.format(more=more))
    assert "logging_dir" not in outcome.text
    assert bool(outcome.lines("RM702", Kind.NOTE)) == told
    assert any("TENSORBOARD_LOGGING_DIR with the same folder" in message for message in outcome.messages) == told
