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
