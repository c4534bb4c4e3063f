"""RM502: rows that converted code counts, where a preprocessor that stays may change their number."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from ray.air.config import ScalingConfig
from ray.train.huggingface import AccelerateTrainer, TransformersTrainer
from ray.train.torch import TorchTrainer
from job import build, loop, own, train_ds

trainer = {made}
"""
REST = 'scaling_config=ScalingConfig(num_workers=2), datasets={"train": train_ds}, preprocessor=own'
COUNT = " Where rows are counted for the trainer, count those of the new datasets."


@pytest.mark.parametrize(
    ("made", "is_told"),
    [
        (f"TransformersTrainer(build, {REST})", True),
        (f"TransformersTrainer(trainer_init_per_worker=build, trainer_init_config={{}}, {REST})", True),
        (f'TorchTrainer(loop, train_loop_config={{"num_rows": train_ds.count()}}, {REST})', True),
        (f"TorchTrainer(loop, {REST})", False),
        (f"AccelerateTrainer(loop, accelerate_config={{}}, {REST})", False),
    ],
)
def test_that_the_rows_are_those_after_it_is_told(made: str, *, is_told: bool) -> None:
    outcome = converted(SCRIPT.format(made=made))
    assert outcome.lines("RM502", Kind.MANUAL)
    assert any(COUNT in message for message in outcome.messages) is is_told


HELD = """
import ray
import ray.air.config
from ray.air.config import ScalingConfig
from ray.train import DataConfig
from ray.train.huggingface import TransformersTrainer
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from job import own


def build(train_dataset, eval_dataset, **config):
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    return Trainer(model, TrainingArguments("out"), train_dataset=train_dataset, eval_dataset=eval_dataset)


{before}
trainer = TransformersTrainer(
    build,
    scaling_config=ScalingConfig(num_workers=2),
    datasets={{"train": ray.data.range(8), "evaluation": {rows}}},
    {given},
)
"""
IN_ORDER = "preserve_order=True"
LEFT = "preprocessor=own"
CONFIGS = 'dataset_config={"train": ray.air.config.DatasetConfig(split=True)}'
FUNCTION = "prep = ray.data.preprocessors.BatchMapper(own, batch_format='pandas', batch_size=8)"


@pytest.mark.parametrize(
    ("before", "rows", "given", "is_kept"),
    {
        "left": ("", "ray.data.range(8)", LEFT, True),
        "left, and rows in memory": ("", "ray.data.range(8).materialize()", LEFT, True),
        "left beside a DataConfig": ("", "ray.data.range(8)", f"{LEFT}, dataset_config=DataConfig(['train'])", True),
        "left beside a dict": ("", "ray.data.range(8)", f"{LEFT}, {CONFIGS}", True),
        "applied beside a dict": (FUNCTION, "ray.data.range(8)", f"preprocessor=prep, {CONFIGS}", False),
        "rows in memory": ("", "ray.data.range(8).materialize()", "metadata=None", False),
        "applied": (FUNCTION, "ray.data.range(8)", "preprocessor=prep", False),
    }.values(),
)
def test_rows_that_a_preprocessor_is_yet_to_change_keep_their_order(
    before: str, rows: str, given: str, *, is_kept: bool
) -> None:
    outcome = converted(HELD.format(before=before, rows=rows, given=given))
    assert bool(outcome.lines("RM502", Kind.MANUAL)) is given.startswith(LEFT)
    assert (IN_ORDER in outcome.text) is is_kept
