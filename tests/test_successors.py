"""What took the place of names that are gone: each name is gone, and what the advice names is there."""

import re

import pytest

from raymigrate.knowledge.libraries import look_up
from raymigrate.knowledge.successors import ADVICE, RENAMED, advice_on

NAMED = re.compile(r"\b(?:ray|transformers|peft|trl)(?:\.\w+)+")
ALL_GONE = {"ray.workflow"}  # its modules are there and hold nothing: ray/workflow/__init__.py of 2.60 raises an error


@pytest.mark.parametrize("name", sorted({*ADVICE, *RENAMED} - ALL_GONE))
def test_it_is_gone(name: str) -> None:
    assert look_up(name).gone is not None


@pytest.mark.parametrize("name", sorted(ADVICE))
def test_what_the_advice_names_is_there(name: str) -> None:
    named = [found for found in NAMED.findall(ADVICE[name]) if not name.startswith(found)]
    assert not [found for found in named if look_up(found).gone is not None]


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("ray.tune.suggest.hyperopt.HyperOptSearch", "It is ray.tune.search now"),
        ("ray.tune.suggest.skopt.SkOptSearch", "Ray has no such search any more"),
        ("ray.data.datasource.CSVDatasource", "Use ray.data.read_csv()."),
        ("ray.train.callbacks.JsonLoggerCallback", "RunConfig(callbacks=) takes a ray.train.UserCallback"),
        ("ray.serve.handle.RayServeHandle", "It is ray.serve.handle.DeploymentHandle now"),
    ],
)
def test_what_is_below_a_name_is_advised_on_with_it(name: str, start: str) -> None:
    assert (advice_on(name) or "").startswith(start)
