"""RM305 and RM415: the names of a trial and of its experiment, which are one name today."""

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


UNDER_TUNER = """
import ray.train
from ray import train, tune
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer
from ray.tune.schedulers import PopulationBasedTraining


def loop(config):
    {body}


trainer = TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2))
scheduler = PopulationBasedTraining(metric="loss", mode="min", hyperparam_mutations={{"a": [1, 2]}})
tune.Tuner(trainer, tune_config=tune.TuneConfig(scheduler=scheduler)).fit()
"""
TUNERS_NAME = (
    "If it is to be the Tuner's name, put that into train_loop_config. It is right where the name of the trial"
)


@pytest.mark.parametrize(
    "body",
    [
        "from ray.air import session\n\n    print(session.get_trial_name())",
        "from ray.air.session import get_trial_id\n\n    print(get_trial_id())",
        "print(ray.train.get_context().get_trial_name())",
        "print(train.get_context().get_trial_id())",
    ],
)
def test_a_later_run_does_not_take_a_trials_name_for_that_of_the_tuner(body: str) -> None:
    first = converted(UNDER_TUNER.format(body=body))
    assert not first.lines("RM415", Kind.MANUAL) and "get_context().get_experiment_name()" in first.text
    again = converted(first.text)
    assert again.text == first.text
    assert [TUNERS_NAME in text for text in again.messages if text.startswith("Here get_experiment_name()")] == [True]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("from ray.air import session\n\n    session.get_experiment_name()", " Put the name into train_loop_config."),
        ("train.get_context().get_experiment_name()", TUNERS_NAME),
        ("own.get_context().get_experiment_name()", None),
        ("train.get_context().get_world_rank()", None),
    ],
)
def test_the_name_of_the_experiment_is_told_under_a_tuner(body: str, told: str | None) -> None:
    messages = converted(UNDER_TUNER.format(body=body)).messages
    found = [text for text in messages if text.startswith("Here get_experiment_name() gives")]
    assert len(found) == (told is not None) and all(told is not None and told in text for text in found)
