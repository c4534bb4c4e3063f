"""Results that are collected with their names are followed out of the pairs, tuples and dicts that hold them."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome, converted

HEAD = """
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from job import init, load, names, rows

trainer = TransformersTrainer(init, scaling_config=ScalingConfig(num_workers=1, use_gpu=True), datasets=rows)
result = trainer.fit()
"""
USE = "    print({0}.metrics['time_total_s'])\n    {0}.checkpoint.to_directory('out')\n"
APPENDED = "runs = []\nfor name in names:\n    runs.append((name, trainer.fit()))\n"


def read(script: str) -> Outcome:
    return converted(HEAD + script)


@pytest.mark.parametrize(
    "script",
    [
        "for name, res in [('a', result), ('b', trainer.fit())]:\n" + USE.format("res"),
        "runs = (('a', result), ('b', result))\nfor name, res in runs:\n" + USE.format("res"),
        APPENDED + "for name, res in runs:\n" + USE.format("res"),
        APPENDED + "for number, (name, res) in enumerate(runs):\n" + USE.format("res"),
        APPENDED + "for pair in sorted(runs):\n" + USE.format("pair[1]"),
        APPENDED + "name, best = runs[0]\nif name:\n" + USE.format("best"),
        APPENDED + "best = max(runs, key=len)[-1]\nif names:\n" + USE.format("best"),
        "runs = [(name, 1, trainer.fit()) for name in names]\nfor _, _, res in reversed(runs):\n" + USE.format("res"),
        "runs = []\nruns += [('a', result)]\nfor name, res in runs:\n" + USE.format("res"),
        "runs = []\nruns.extend([('a', result)])\nfor name, res in runs:\n" + USE.format("res"),
        "runs = {'a': (1, result)}\nfor name, (size, res) in runs.items():\n" + USE.format("res"),
        "runs = []\nruns.append({'name': 'a', 'run': result})\nfor run in runs:\n" + USE.format("run['run']"),
        "def fitted():\n    return [('a', trainer.fit())]\nfor name, res in fitted():\n" + USE.format("res"),
        f"def show(runs):\n  for name, res in runs:\n{USE.format('res')}show([('a', result)])\n",
    ],
)
def test_a_result_is_followed_out_of_what_holds_it(script: str) -> None:
    outcome = read(script)
    assert outcome.lines("RM604", Kind.MANUAL) and outcome.lines("RM602", Kind.CONVERTED)


def test_a_result_is_followed_out_of_what_an_object_collects() -> None:
    kept = """
class Runs:
    def __init__(self):
        self.runs = []

    def add(self, name):
        self.runs.append((name, trainer.fit()))

    def seconds(self):
        return {name: res.metrics["time_total_s"] for name, res in self.runs}
"""
    assert read(kept).lines("RM604", Kind.MANUAL)


@pytest.mark.parametrize(
    "script",
    [
        "for name, res in [(result, load('a')), (result, load('b'))]:\n" + USE.format("res"),
        "runs = []\nfor name in names:\n    runs.append((trainer.fit(), name))\nfor _, res in runs:\n"
        + USE.format("res"),
        "for res, name in [('a', result)]:\n" + USE.format("res"),
        "runs = []\nruns.append({'name': load('a'), 'run': result})\nfor run in runs:\n" + USE.format("run['name']"),
        "runs = [result]\nfor run in runs:\n    run = run[0]\n" + USE.format("run[0]"),
    ],
)
def test_what_lies_beside_a_result_is_none(script: str) -> None:
    outcome = read(script)
    assert not {code for code, _, _ in outcome.findings} & {"RM602", "RM604"}
