"""RM405 for a trainer that a Tuner gets by a list, a dict, partial(), another name or a class of its own."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from functools import partial
from ray import tune
from ray.train.torch import TorchTrainer

def loop(config):
    print(config)

def other(config):
    tune.report({{"loss": 1.0}})

trainer = TorchTrainer(loop)

{use}
"""
USES = {
    "unpacked dict": "tune.Tuner(**{{'trainable': {0}}})",
    "filled dict": "given = dict(trainable={0})\ngiven.update(param_space={{}})\ntune.Tuner(**given)",
    "unpacked list": "given = [{0}]\ntune.Tuner(*given)",
    "partial": "make = partial(tune.Tuner, param_space={{}})\nmake({0})",
    "keyword of partial": "make = partial(tune.Tuner, param_space={{}})\nmake(trainable={0})",
    "in partial": "partial(tune.Tuner, {0})()",
    "other name": "Made = tune.Tuner\nMade({0})",
    "class attribute": "class Search:\n    kind = tune.Tuner\n    def run(self):\n        return self.kind({0})",
    "table": "{{'tuner': tune.Tuner}}['tuner']({0})",
    "super": "class Mine(tune.Tuner):\n    def __init__(self):\n        super().__init__({0})",
    "base": "class Mine(tune.Tuner):\n    def __init__(self):\n        tune.Tuner.__init__(self, {0})",
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_trainer_is_told(use: str) -> None:
    assert converted(SCRIPT.format(use=use.format("trainer"))).lines("RM405", Kind.MANUAL)


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_function_is_not_told(use: str) -> None:
    assert not converted(SCRIPT.format(use=use.format("other"))).lines("RM405", Kind.MANUAL)


@pytest.mark.parametrize(
    "use", ["tune.Tuner(*given())", "tune.Tuner(**given())", "partial(tune.Tuner)", "tune.Tuner(*[])"]
)
def test_what_is_not_seen_is_not_told(use: str) -> None:
    assert not converted(SCRIPT.format(use=use)).lines("RM405", Kind.MANUAL)
