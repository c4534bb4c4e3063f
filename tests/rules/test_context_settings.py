"""RM525: settings of Ray Data that are gone."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import ray
from ray.data import DataContext
from ray.data.context import DatasetContext


def prepare(value, others):
    context = DataContext.get_current()
    {statement}
    return ray.data.range(4)
"""


@pytest.mark.parametrize(
    "statement",
    [
        "context.use_streaming_executor = True",
        "DatasetContext.get_current().block_splitting_enabled = True",
        "ray.data.DataContext.get_current().optimizer_enabled = False",
        "ray.data.context.DatasetContext.get_current().eager_free = False",
    ],
)
def test_a_setting_is_deleted(statement: str) -> None:
    outcome = converted(SCRIPT.format(statement=statement))
    assert len(outcome.lines("RM525", Kind.CONVERTED)) == 1
    assert statement not in outcome.text
    assert "return ray.data.range(4)" in outcome.text


@pytest.mark.parametrize(
    "statement",
    [
        "context.use_streaming_executor = value()",
        "context.use_streaming_executor = context.new_execution_backend = True",
        "context.use_streaming_executor, others = True, 1",
        "context.eager_free = True; print(context.eager_free)",
    ],
)
def test_one_that_more_hangs_on_stays_and_is_reported(statement: str) -> None:
    outcome = converted(SCRIPT.format(statement=statement))
    assert outcome.lines("RM525", Kind.MANUAL)
    assert statement in outcome.text


@pytest.mark.parametrize(
    "statement",
    [
        "context.target_max_block_size = 1",
        "value.optimizer_enabled = True",
        "print(context.optimizer_enabled)",
        "optimizer_enabled = True",
    ],
)
def test_other_settings_are_left(statement: str) -> None:
    outcome = converted(SCRIPT.format(statement=statement))
    assert not outcome.lines("RM525")
    assert statement in outcome.text
