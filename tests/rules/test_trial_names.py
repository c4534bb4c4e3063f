"""RM305: the names of a trial and of its experiment, which are one name today."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import ray.train
from ray.air import ScalingConfig, session
from ray.air.session import get_trial_id
from ray.train.torch import TorchTrainer


def loop(config):
    context = ray.train.get_context()
    print({asked})


TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2)).fit()
"""
NOTED = "gave different texts; now both give the name of the run."


@pytest.mark.parametrize(
    ("asked", "count"),
    [
        ("session.get_trial_name(), session.get_trial_id()", 1),
        ("session.get_trial_name()); other(get_trial_id()", 1),
        ("session.get_experiment_name(), get_trial_id(), session.get_trial_name()", 1),
        ("context.get_trial_name(), context.get_trial_id()", 1),
        ("context.get_experiment_name(), ray.train.get_context().get_trial_id()", 1),
        ("session.get_trial_id(), get_trial_id()", 0),
        ("session.get_experiment_name()", 0),
        ("session.get_trial_id(), own.get_experiment_name()", 0),
        ("context.get_experiment_name(), own.get_trial_id()", 0),
    ],
)
def test_texts_that_are_one_now_are_noted_once(asked: str, count: int) -> None:
    outcome = converted(SCRIPT.format(asked=asked))
    assert sum(NOTED in text for text in outcome.messages) == count
    assert len(outcome.lines("RM305", Kind.NOTE)) == count
    again = converted(outcome.text)
    assert again.text == outcome.text and not any(NOTED in text for text in again.messages)
