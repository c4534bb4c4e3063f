"""RM502: a Concatenator takes the columns that go in as its first argument, which has no default."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import numpy as np
import ray
from ray.data.preprocessors import Concatenator

NAME = "features"
"""


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("Concatenator()", "without columns= raises a TypeError. Give columns=[...] with every column"),
        ("Concatenator(dtype=np.float32)", "without columns= raises a TypeError"),
        ('Concatenator(output_column_name="features")', "without columns= raises a TypeError"),
        ('Concatenator("features")', 'output_column_name="features" today'),
        ("Concatenator(NAME, dtype=np.float32)", "output_column_name=NAME today"),
        ('Concatenator("features", ["x", "y"])', "Give columns=[...]; the columns come in this order"),
        ('Concatenator("features", exclude=["y"])', 'output_column_name="features" today'),
        ('Concatenator(exclude=["y"])', "Concatenator(exclude=) raises a TypeError"),
        ('Concatenator(output_column_name="f", include=["x"])', "Concatenator(include=) raises a TypeError"),
        ("ray.data.preprocessors.concatenator.Concatenator()", "without columns="),
    ],
)
def test_what_a_concatenator_lost_is_told(code: str, said: str) -> None:
    outcome = converted(f"{HEAD}joined = {code}\n")
    assert outcome.lines("RM502", Kind.MANUAL) == [6]
    assert any(said in message for message in outcome.messages)


@pytest.mark.parametrize(
    "code",
    [
        'Concatenator(["x", "y"])',
        'Concatenator(columns=["x"], dtype=np.float32)',
        'Concatenator(["x"], "features")',
        "Concatenator(names)",
        "Concatenator(*arguments)",
        "Concatenator(**arguments)",
        "mine.Concatenator()",
        "Concatenator",
    ],
)
def test_what_names_its_columns_is_left(code: str) -> None:
    assert not converted(f"{HEAD}joined = {code}\n").lines("RM502", Kind.MANUAL)
