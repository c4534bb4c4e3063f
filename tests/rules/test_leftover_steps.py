"""RM111: the batches that are left over where gradients are accumulated."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer
from transformers import Trainer, TrainingArguments

STEPS = 4
MORE = {{"gradient_accumulation_steps": 2}}


def loop(config):
    args = TrainingArguments("out", {arguments})
    {then}
    Trainer(model=make(), args=args, train_dataset=rows).train()


TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2)).fit()
"""
OLD = 'evaluation_strategy="epoch", '


def notes(arguments: str, then: str = "pass") -> list[int]:
    return converted(SCRIPT.format(arguments=arguments, then=then)).lines("RM111", Kind.NOTE)


@pytest.mark.parametrize(
    "arguments",
    [
        "gradient_accumulation_steps=2",
        "gradient_accumulation_steps=STEPS",
        'gradient_accumulation_steps=config["steps"]',
        "gradient_accumulation_steps=2, max_steps=-1",
        "**MORE",
        '**config["training"], label_names=["gradient_accumulation_steps"]',
    ],
)
def test_the_rest_of_an_epoch_is_a_step_of_its_own(arguments: str) -> None:
    assert notes(OLD + arguments) == [10]


def test_it_may_be_set_where_the_arguments_have_been_made() -> None:
    assert notes(OLD, "args.gradient_accumulation_steps = 4") == [10]
    assert not notes(OLD, "make.gradient_accumulation_steps = 4")  # of something else
    assert not notes(f"{OLD}gradient_accumulation_steps=4", "args.max_steps = 100")


@pytest.mark.parametrize(
    "arguments",
    [
        OLD + "gradient_accumulation_steps=1",
        OLD + "num_train_epochs=2",
        OLD + "gradient_accumulation_steps=2, max_steps=100",
        OLD + 'gradient_accumulation_steps=2, max_steps=config["steps"]',
        "gradient_accumulation_steps=2",  # nothing says that it was written for transformers 4
    ],
)
def test_else_there_is_nothing_to_say(arguments: str) -> None:
    assert not notes(arguments)


CONFIGURED = """
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer
from transformers import Trainer, TrainingArguments


def loop(config):
    steps = config.get("accumulation", {default})
    args = TrainingArguments("out", evaluation_strategy="epoch", gradient_accumulation_steps=steps)
    Trainer(model=make(), args=args, train_dataset=rows).train()


TorchTrainer(loop, train_loop_config={config}, scaling_config=ScalingConfig(num_workers=2)).fit()
"""


@pytest.mark.parametrize(
    ("config", "default", "is_told"),
    [
        ('{"lr": 1e-5}', "1", False),
        ("dict(lr=rate, epochs=2)", "1", False),
        ('{"lr": 1e-5}', "2", True),
        ('{"accumulation": 4}', "1", True),
        ("{**base}", "1", True),
        ("settings", "1", True),
    ],
)
def test_the_default_counts_where_the_configuration_has_no_other(config: str, default: str, is_told: bool) -> None:
    assert bool(converted(CONFIGURED.format(config=config, default=default)).lines("RM111", Kind.NOTE)) == is_told


def test_each_of_the_arguments_of_a_legacy_trainer_has_a_note() -> None:
    script = """
    from ray.train.huggingface import TransformersTrainer
    from transformers import Trainer, TrainingArguments


    def init(train_dataset, eval_dataset=None, **config):
        if config.get("long"):
            args = TrainingArguments("out", gradient_accumulation_steps=8)
        else:
            args = TrainingArguments("out", gradient_accumulation_steps=2)
        return Trainer(model=make(), args=args, train_dataset=train_dataset)


    TransformersTrainer(init, scaling_config=scaling, datasets={"train": rows}).fit()
    """
    first = converted(script)
    assert first.lines("RM111", Kind.NOTE) == [7, 9]
    assert not converted(first.text).lines("RM111", Kind.NOTE)  # which is for transformers 5


def test_libraries_that_stay_as_they_are_count_as_before() -> None:
    script = SCRIPT.format(arguments=f"{OLD}gradient_accumulation_steps=2", then="pass")
    assert not converted(script, ignore=("RM7",)).lines("RM111", Kind.NOTE)
