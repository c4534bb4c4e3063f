"""A number in the first place of ScalingConfig, that of the resources of the trainer, is no number of workers."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from ray.air import ScalingConfig
from ray.train.torch import TorchTrainer

TorchTrainer(print, scaling_config={given}).fit()
"""


@pytest.mark.parametrize("given", ["ScalingConfig(2)", "ScalingConfig(2, use_gpu=True)", "ScalingConfig('2')"])
def test_what_is_no_dict_is_left_for_a_person(given: str) -> None:
    outcome = converted(SCRIPT.format(given=given))
    assert "ScalingConfig(trainer_resources=" in outcome.text
    assert [kind for code, kind, _ in outcome.findings if code == "RM401"] == [Kind.MANUAL]
    assert any("not a dict" in message for message in outcome.messages)


@pytest.mark.parametrize("given", ["ScalingConfig({'CPU': 0}, 2)", "ScalingConfig(made, 2)"])
def test_what_may_be_one_is_deleted(given: str) -> None:
    outcome = converted(SCRIPT.format(given=given))
    assert "ScalingConfig(num_workers=2)" in outcome.text
