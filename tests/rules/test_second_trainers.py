"""RM405: a trainer that is fitted by itself and given to a Tuner too."""

import re

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted


def test_a_second_trainer_gets_the_datasets_that_the_first_one_gets() -> None:
    script = """
    from ray.air.config import ScalingConfig
    from ray.data.preprocessors import StandardScaler
    from ray.train.torch import TorchTrainer
    from ray.tune.tuner import TuneConfig, Tuner

    trainer = TorchTrainer(
        loop,
        train_loop_config={"lr": 1},
        scaling_config=ScalingConfig(num_workers=3),
        datasets={"train": rows},
        preprocessor=StandardScaler(columns=["a"]),
    )
    trainer.fit()
    Tuner(trainer, param_space={"train_loop_config": {"lr": 2}}, tune_config=TuneConfig(num_samples=5)).fit()
    """
    outcome = converted(script)
    assert outcome.lines("RM405", Kind.CONVERTED) and "preprocessor=" not in outcome.text
    assert outcome.text.count("datasets=datasets") == 2
    assert converted(outcome.text).text == outcome.text


BY_HAND = """
from ray.air.config import ScalingConfig
from ray.data.preprocessors import BatchMapper
from ray.train.torch import TorchTrainer
from ray.tune.tuner import TuneConfig, Tuner

mapper = BatchMapper(clean, batch_format="pandas")
print(mapper.transform_batch(sample))
trainer = TorchTrainer(
    loop, scaling_config=ScalingConfig(num_workers=3), datasets={{"train": rows}}, preprocessor=mapper
)
{alone}
Tuner(trainer, param_space={{"train_loop_config": {{"lr": 2}}}}, tune_config=TuneConfig(num_samples=5)).fit()
"""


def test_what_a_person_has_to_take_out_of_both_trainers_is_told_of_both() -> None:
    both = converted(BY_HAND.format(alone="trainer.fit()"))
    assert both.text.count("preprocessor=mapper") == 2
    assert any("train_driver() gives it to a second trainer" in message for message in both.messages)
    one = converted(BY_HAND.format(alone=""))
    assert one.text.count("preprocessor=mapper") == 1
    assert not any("second trainer" in message for message in one.messages)


HEAD = """
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from elsewhere import build, other, first

"""
MADE = "TransformersTrainer(build, scaling_config=ScalingConfig(num_workers=2))"
LATER = MADE.replace("build", "other")


@pytest.mark.parametrize(
    ("lines", "functions"),
    [
        (f"a = {MADE}\nb = {MADE}", 1),
        (f"a = {MADE}\nif first:\n    b = {MADE}", 1),
        (f"a = [{MADE}, {MADE}]", 1),
        (f"def run():\n    a = {MADE}\n    with first:\n        b = {MADE}", 1),
        (f"a = {MADE}\nb = {LATER}", 2),
        (f"a = {MADE}\nb = {MADE.replace('=2', '=2, use_gpu=True')}", 2),
        (f"if first:\n    a = {MADE}\nelse:\n    b = {MADE}", 2),
        (f"def one():\n    return {MADE}\ndef two():\n    return {MADE}", 2),
    ],
)
def test_a_training_function_is_written_again_only_where_it_is_another_one_or_not_there(
    lines: str, functions: int
) -> None:
    text = converted(HEAD + lines).text
    assert len(re.findall(r"def train_func\w*\(", text)) == functions
    assert len(re.findall(r"TorchTrainer\(train_func", text)) == 2
