"""RM602: the weights that accelerator.save_state() writes are read under the name that they have today."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import os
import torch
from accelerate import Accelerator
from accelerate.utils import WEIGHTS_NAME
from ray.air import Checkpoint, ScalingConfig, session
from ray.train.huggingface import AccelerateTrainer


def loop(config):
    accelerator = Accelerator()
    model = accelerator.prepare(torch.nn.Linear(1, 1))
    {save}
    session.report({{"loss": 1}}, checkpoint=Checkpoint.from_directory("s"))


trainer = AccelerateTrainer(loop, accelerate_config={{}}, scaling_config=ScalingConfig(num_workers=2, use_gpu=True))
with trainer.fit().checkpoint.as_directory() as path:
    {read}
"""
SAVE = 'accelerator.save_state("s")'
READ = 'state = torch.load(os.path.join(path, "pytorch_model.bin"))'


@pytest.mark.parametrize(
    ("save", "read"),
    [
        (SAVE, READ),
        ('accelerator.save_state("s", safe_serialization=True)', READ),
        (SAVE, 'state = torch.load(f"{path}/pytorch_model.bin")'),
        (SAVE, "state = torch.load(os.path.join(path, WEIGHTS_NAME))"),
        (SAVE, 'assert os.path.exists(path + "/pytorch_model.bin")'),
    ],
)
def test_weights_under_their_old_name_are_not_found(save: str, read: str) -> None:
    outcome = converted(SCRIPT.format(save=save, read=read))
    assert len(outcome.lines("RM602", Kind.MANUAL)) == 1
    assert any(message.startswith("accelerate >= 0.25 writes no pytorch_model.bin") for message in outcome.messages)


@pytest.mark.parametrize(
    ("save", "read"),
    [
        ('accelerator.save_state("s", safe_serialization=False)', READ),
        ('torch.save(model.state_dict(), "s/pytorch_model.bin")', READ),
        (SAVE, 'state = torch.load(os.path.join(path, "optimizer.bin"))'),
    ],
)
def test_what_is_written_under_that_name_is_found(save: str, read: str) -> None:
    assert not converted(SCRIPT.format(save=save, read=read)).lines("RM602", Kind.MANUAL)


def test_deepspeed_makes_a_folder_of_that_name() -> None:
    command = 'os.system("python zero_to_fp32.py . pytorch_model.bin")\n    '
    outcome = converted(SCRIPT.format(save=SAVE, read=command + READ))
    assert not outcome.lines("RM602", Kind.MANUAL)  # nor does accelerate write the weights then
    assert len(outcome.lines("RM768", Kind.MANUAL)) == 1
