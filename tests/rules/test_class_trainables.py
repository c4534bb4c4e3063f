"""RM414: what save_checkpoint() of a Trainable returns."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import os
from pathlib import Path
from ray import tune
from ray.air import RunConfig
from ray.tune import Trainable

class Base({base}):
    def step(self):
        return {{"loss": 1}}

class Trial(Base):
    def save_checkpoint(self, folder):
        path = os.path.join(folder, "model.pt")
        state = {{"weights": 1}}
        return {value}

tune.Tuner(Trial, run_config=RunConfig(name="a"))
"""


@pytest.mark.parametrize("base", ["tune.Trainable", "Trainable"])
@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("path", True),
        ('os.path.join(folder, "model.pt")', True),
        ('f"{folder}/model.pt"', True),
        ('folder + "/model.pt"', True),
        ('"%s/model.pt" % folder', True),
        ("state if state else path", True),
        ("self.model.save(folder)", True),
        ("folder", False),
        ("str(folder)", False),
        ("state", False),
        ("None", False),
        ("self.state()", False),
        ("Path(folder) / 'model.pt'", False),
    ],
)
def test_a_path_that_a_trainable_returns_is_told(base: str, value: str, said: bool) -> None:
    outcome = converted(SCRIPT.format(base=base, value=value))
    assert outcome.lines("RM414", Kind.MANUAL) == [15] * said
    assert len(converted(outcome.text).lines("RM414", Kind.MANUAL)) == said


@pytest.mark.parametrize("base", ["object", "torch.nn.Module", "trainables.Trainable"])
def test_other_classes_return_what_they_like(base: str) -> None:
    assert not converted(SCRIPT.format(base=base, value="path")).lines("RM414", Kind.MANUAL)
