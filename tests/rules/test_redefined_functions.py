"""RM605 and RM483 where a training function, or one that it calls, is defined anew or in several branches."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import builtins
from ray.air import Checkpoint, ScalingConfig, session
from ray.train.torch import TorchTrainer

from job import make


def loop(config):
    model = make()
    {call}
    session.report({{"loss": 1.0}})


trainer = TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2))
result = trainer.fit()
print(result.metrics)


def loop(config):
    model = make()
    {call}
    session.report({{"loss": 1.0}}, checkpoint=Checkpoint.from_directory("saved"))


trainer = TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2))
result = trainer.fit()
print(result.metrics)
"""
FIRST, SECOND = 17, 28


def lines(call: str) -> list[int]:
    return converted(SCRIPT.format(call=call)).lines("RM605", Kind.MANUAL)


@pytest.mark.parametrize(
    "call", ["model.eval()", "model.train().eval()", "model.vars()", "frame.eval('a + b')", "pass"]
)
def test_methods_of_such_names_get_at_no_other_code(call: str) -> None:
    told = lines(call)
    assert len(told) == 1 and FIRST - 2 <= told[0] < SECOND - 5


@pytest.mark.parametrize(
    "call", ["eval(config)", "builtins.eval(config)", "importlib.import_module(config)", "exec(config)"]
)
def test_what_runs_a_text_may(call: str) -> None:
    assert len(lines(call)) == 2


BRANCHES = """
import torch
from ray.air import session
from ray.train.torch import TorchTrainer

if session:
    def save(model):
        torch.save(model, "one.pt")
else:
    def save(model):
        torch.save(model, "two.pt")

def unused(model):
    torch.save(model, "three.pt")

def loop(config):
    save(1)

TorchTrainer(loop).fit()
"""


def test_a_function_that_several_branches_define_is_told_in_each() -> None:
    assert converted(BRANCHES).lines("RM483", Kind.MANUAL) == [7, 10]
