"""Where a function runs is seen however it is handed to a Tuner or a trainer."""

import ast

import pytest

from raymigrate.facts.projects.places import Place, Places
from raymigrate.facts.syntax.module import Module

HEAD = """
import functools
from ray import tune
from ray.train.torch import TorchTrainer

def work(config):
    report(config)

def other(config):
    print(config)

class Job:
    def loop(self, config):
        self.step()

    def step(self):
        report(1)

"""


def places(text: str) -> list[Place]:
    """Where the calls of report() run."""
    module = Module(HEAD + text)
    calls = [c for c in module.of_type(ast.Call) if isinstance(c.func, ast.Name) and c.func.id == "report"]
    return [Places(module).of(call) for call in calls]


@pytest.mark.parametrize(
    "handed",
    [
        "{0}(work)",
        "f = work\n{0}(f)",
        "{0}(work if x else other)",
        "{0}(functools.partial(work, a=1))",
        "{0}(lambda config: work(config))",
        "def run(f): {0}(f)\nrun(work)",
        "def made(): return work\n{0}(made())",
        "fs = {{'a': work}}\n{0}(fs['a'])",
        "for f in (other, work): {0}(f)",
        "f = other\nif x:\n    f = work\n{0}(f)",
    ],
)
@pytest.mark.parametrize(("taker", "place"), [("tune.Tuner", Place.TRIAL), ("TorchTrainer", Place.WORKER)])
def test_a_function_is_followed_to_what_runs_it(handed: str, taker: str, place: Place) -> None:
    assert places(handed.format(taker))[0] is place


@pytest.mark.parametrize("handed", ["{0}(Job().loop)", "job = Job()\n{0}(job.loop)", "def f(j: Job): {0}(j.loop)"])
def test_a_method_is_followed_to_what_runs_it(handed: str) -> None:
    assert places(handed.format("TorchTrainer"))[1] is Place.WORKER


@pytest.mark.parametrize(
    ("text", "unseen"),
    [
        ("tune.Tuner(work)", False),
        ("tune.Tuner('PPO')", False),
        ("tune.Tuner(Job)", False),
        ("def run(f): tune.Tuner(f)", True),
        ("def run(f=work): tune.Tuner(f)", True),
        ("tune.Tuner(settings['function'])", True),
        ("tune.Tuner(make())", True),
        ("tune.Tuner(TorchTrainer(other))", False),
        ("tune.Tuner(thing.method)", True),
        ("tune.Tuner(work if x else y)", True),
    ],
)
def test_what_is_handed_to_a_tuner_may_not_be_seen(text: str, unseen: bool) -> None:
    assert Places(Module(HEAD + text)).unseen_trainables is unseen
