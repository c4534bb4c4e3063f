"""RM209 and RM693: an accelerate_config is not lost beside arguments that cannot be seen, nor at TorchTrainer."""

import pytest

from tests.rules.scripts import converted

SCRIPT = """
from accelerate import Accelerator
from ray.air import ScalingConfig
from ray.train.huggingface import AccelerateTrainer
from ray.train.torch import TorchTrainer


def loop(config):
    accelerator = Accelerator()


def build(fn, **rest):
    return {trainer}
"""


@pytest.mark.parametrize(
    "arguments", ["fn, accelerate_config={}, **rest", "**rest", "*fn, accelerate_config=rest", "fn, **{**rest, 'a': 1}"]
)
def test_the_arguments_have_to_be_written_out(arguments: str) -> None:
    outcome = converted(SCRIPT.replace("{trainer}", f"AccelerateTrainer({arguments})"))
    told = next(message for message in outcome.messages if "its arguments cannot be seen" in message)
    assert "Write the arguments of AccelerateTrainer(...) out as keywords" in told
    assert "what it holds goes to Accelerator(...)" in told


def test_written_out_they_are_converted() -> None:
    after = converted(
        SCRIPT.replace("{trainer}", 'AccelerateTrainer(loop, accelerate_config={"mixed_precision": "bf16"})')
    ).text
    assert 'mixed_precision="bf16"' in after
    assert "TorchTrainer(loop)" in after


def test_torch_trainer_takes_none() -> None:
    outcome = converted(SCRIPT.replace("{trainer}", "TorchTrainer(fn, accelerate_config=rest)"))
    told = next(message for message in outcome.messages if "TorchTrainer(accelerate_config=) is refused" in message)
    assert "Accelerator(...)" in told and "Leave it out" not in told


def test_what_is_annotated_stays_with_a_trainer_that_is_still_made() -> None:
    fit = "\n\ndef fit(trainer: AccelerateTrainer):\n    return trainer.fit()\n"
    outcome = converted(SCRIPT.replace("{trainer}", "AccelerateTrainer(**rest)") + fit)
    assert "trainer: AccelerateTrainer)" in outcome.text
    assert any("one is still constructed in this file" in message for message in outcome.messages)
