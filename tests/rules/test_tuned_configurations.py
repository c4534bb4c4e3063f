"""RM706 and RM412: arguments unpacked from a configuration that a Tuner searches."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import ray
from ray import tune
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from ray.tune.schedulers import ASHAScheduler
from transformers import Trainer, TrainingArguments

def init(train_dataset, eval_dataset=None, **config):
    args = TrainingArguments("out", {arguments}**config)
    return Trainer(model=model(), args=args, train_dataset=train_dataset, eval_dataset=eval_dataset)

trainer = TransformersTrainer(
    init,
    trainer_init_config={{"learning_rate": 1e-5}},
    scaling_config=ScalingConfig(num_workers=2),
    datasets={{"train": ray.data.from_items([1]), "evaluation": ray.data.from_items([1])}},
)
tuner = tune.{tuner}
"""
EACH_EPOCH = 'save_strategy="epoch", logging_strategy="epoch", evaluation_strategy="epoch", '
EACH_STEPS = EACH_EPOCH.replace("epoch", "steps")
ASHA = "tune_config=tune.TuneConfig(scheduler=ASHAScheduler())"
RATE = '{"learning_rate": tune.uniform(0, 1)}'


def tuned(space: str, more: str = "") -> str:
    return f'Tuner(trainer, param_space={{"trainer_init_config": {space}}}, {more})'


@pytest.mark.parametrize(
    "tuner",
    [tuned(RATE), "Tuner(trainer)", 'Tuner(trainer, param_space={"scaling_config": ScalingConfig(num_workers=3)})'],
)
def test_a_search_space_that_is_written_hides_nothing(tuner: str) -> None:
    outcome = converted(SCRIPT.format(arguments="", tuner=tuner))
    assert not outcome.lines("RM706", Kind.MANUAL)
    assert "get_reporting_integration_callbacks" not in outcome.text


@pytest.mark.parametrize(
    "tuner",
    [
        tuned("space()"),
        tuned('{**given, "learning_rate": 1e-5}'),
        tuned(f"tune.choice([{RATE}])"),
        "Tuner(trainer, param_space=space())",
        "Tuner(trainer, **options)",
        "run(trainer.as_trainable(), config=space())",
    ],
)
def test_one_that_cannot_be_seen_does(tuner: str) -> None:
    assert len(converted(SCRIPT.format(arguments="", tuner=tuner)).lines("RM706", Kind.MANUAL)) == 1


def test_what_a_search_space_gives_is_told_there() -> None:
    tuner = tuned('{"evaluation_strategy": tune.choice(["epoch", "steps"])}')
    outcome = converted(SCRIPT.format(arguments="", tuner=tuner))
    assert len(outcome.lines("RM701", Kind.MANUAL)) == 1
    assert not outcome.lines("RM706", Kind.MANUAL)


@pytest.mark.parametrize(
    ("arguments", "space"),
    [
        (EACH_EPOCH, RATE),
        (EACH_EPOCH, "space()"),
        (EACH_EPOCH, '{"eval_steps": 5}'),
        (EACH_STEPS, RATE),
        (EACH_STEPS + "eval_steps=5, save_steps=5, logging_steps=5, ", "space()"),
    ],
)
def test_strategies_that_nothing_overrides_report_each_log(arguments: str, space: str) -> None:
    assert not converted(SCRIPT.format(arguments=arguments, tuner=tuned(space, ASHA))).lines("RM412", Kind.MANUAL)


@pytest.mark.parametrize(
    ("arguments", "space"),
    [
        ('save_strategy="epoch", logging_strategy="epoch", ', '{"evaluation_strategy": "steps"}'),
        ('save_strategy="epoch", logging_strategy="epoch", ', "space()"),
        (EACH_STEPS, '{"save_steps": 10}'),
        (EACH_STEPS + "save_steps=5, logging_steps=5, ", "space()"),
        ("", "space()"),
    ],
)
def test_those_that_something_may_override_are_told(arguments: str, space: str) -> None:
    tuner = tuned(space, ASHA)
    assert converted(SCRIPT.format(arguments=arguments, tuner=tuner)).lines("RM412", Kind.MANUAL)


DRAWN = """
from datasets import load_dataset
from ray import tune
from ray.air import ScalingConfig, session
from ray.train.torch import TorchTrainer


def loop(config):
    load_dataset(config["name"], split="train")
    session.report({{}})


trainer = TorchTrainer(loop, train_loop_config={{"name": "a/b"}}, scaling_config=ScalingConfig(num_workers=2))
tune.Tuner(trainer, param_space={{"train_loop_config": {{"name": {value}}}}}).fit()
"""


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ('{"grid_search": ["squad", "glue"]}', True),
        ('tune.grid_search(["squad", "glue"])', True),
        ('tune.choice(["squad", "glue"])', True),
        ('"c/d"', False),
    ],
)
def test_one_of_several_values_is_unknown(value: str, told: bool) -> None:
    assert bool(converted(DRAWN.format(value=value)).lines("RM714", Kind.MANUAL)) is told
