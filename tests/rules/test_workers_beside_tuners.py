"""RM413: functions of which only a trainer's workers can be the home, in files with a Tuner that does not show it."""

from textwrap import indent

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import ray.train
from ray import train, tune
from ray.air import session
from other import build, read


{functions}


tune.Tuner({trainable}, param_space=read()).fit()
"""
LOOP = """def loop(config):
    if {asks}:
        print("first")
    {then}
"""
OF_TRAIN = 'ray.train.report({"loss": 1})'


@pytest.mark.parametrize("trainable", ["build()", "read().trainer", "made"])
@pytest.mark.parametrize(
    "asks",
    [
        "session.get_world_rank() == 0",
        "session.get_dataset_shard('train')",
        "train.get_context().get_world_size() > 1",
        "ray.train.get_context().get_local_rank() == 0",
    ],
)
def test_a_function_that_asks_for_its_rank_runs_on_workers(trainable: str, asks: str) -> None:
    functions = LOOP.format(asks=asks, then='session.report({"loss": 1})')
    functions += (
        "\n\nclass Job:\n    @staticmethod\n    def init(train, evaluation):\n        return session.get_world_rank()\n"
    )
    outcome = converted(SCRIPT.format(functions=functions, trainable=trainable))
    assert not {code for code, *_ in outcome.findings} & {"RM413"}
    assert OF_TRAIN in outcome.text and "session" not in outcome.text and "tune.report" not in outcome.text


def test_what_it_calls_and_what_is_in_it_runs_there_too() -> None:
    functions = (
        'def tell(loss):\n    session.report({"loss": loss})\n\n\n'
        "def loop(config):\n    def step():\n        return session.get_world_rank()\n\n    tell(step())\n"
    )
    outcome = converted(SCRIPT.format(functions=functions, trainable="build()"))
    assert 'train.report({"loss": loss})' in outcome.text and not outcome.lines("RM413", Kind.MANUAL)


@pytest.mark.parametrize(
    ("functions", "trainable", "manual"),
    [
        ('def loop(config):\n    session.report({"loss": 1})', "build()", 0),
        ('def main():\n    def loop(config):\n        session.report({"loss": 1})\n\n    tune.run(loop)', "build()", 0),
        (LOOP.format(asks="session.get_world_rank()", then='session.report({"loss": 1})'), "loop", 1),
    ],
)
def test_a_tune_function_stays_one(functions: str, trainable: str, manual: int) -> None:
    outcome = converted(SCRIPT.format(functions=functions, trainable=trainable))
    assert 'tune.report({"loss": 1})' in outcome.text and len(outcome.lines("RM413", Kind.MANUAL)) == manual


SAVE = "def inner(metrics):\n    session.report(metrics)\n\n\ndef save(metrics):\n    inner(metrics)\n\n\n"
ASKING = LOOP.format(asks="session.get_world_rank() == 0", then='save({"loss": 1})')


@pytest.mark.parametrize("trainable", ["build()", "read()['x']", "objective"])
@pytest.mark.parametrize(
    "others",
    [
        'def objective(config):\n    save({"loss": 2})',
        'def objective(config):\n    def step():\n        save({"loss": 2})\n\n    step()',
        'def other(config):\n    save({"loss": 2})\n\n\nobjective = lambda config: other(config)',
        'def objective(config):\n    inner({"loss": 2})',
    ],
)
def test_what_others_call_too_is_not_of_the_workers_alone(trainable: str, others: str) -> None:
    outcome = converted(SCRIPT.format(functions=f"{SAVE}{ASKING}\n\n{others}\n", trainable=trainable))
    assert len(outcome.lines("RM413", Kind.MANUAL)) == 1
    assert "    session.report(metrics)" in outcome.text and "train.get_context().get_world_rank()" in outcome.text


@pytest.mark.parametrize(
    "others",
    [
        "def objective(config):\n    read(config)",
        "def other(config):\n    inner = read()\n    inner(config)",
        "class Own:\n    def save(self, metrics):\n        self.save(metrics)",
        "def other(config):\n    session.get_dataset_shard('x')\n    read(callback=lambda metrics: save(metrics))",
    ],
)
def test_what_only_they_call_is_theirs(others: str) -> None:
    outcome = converted(SCRIPT.format(functions=f"{SAVE}{ASKING}\n\n{others}\n", trainable="build()"))
    assert "train.report(metrics)" in outcome.text and "RM413" not in {code for code, *_ in outcome.findings}


def test_a_method_that_both_call_is_told() -> None:
    methods = "def save(self):\n    session.report({})\n\ndef objective(self, config):\n    self.save()\n"
    methods += "\ndef loop(self, config):\n    session.get_world_rank()\n    self.save()\n"
    functions = "class Job:\n" + indent(methods, "    ")
    outcome = converted(SCRIPT.format(functions=functions, trainable="read()['x']"))
    assert outcome.lines("RM413", Kind.MANUAL) == [9] and "session.report({})" in outcome.text
