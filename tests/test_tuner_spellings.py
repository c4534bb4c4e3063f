"""A Tuner over a trainer is converted or told, however the trainer gets to it."""

import pytest

from raymigrate.base.findings import Kind
from raymigrate.run.engine import convert

HEAD = """
from ray import tune
from ray.air import ScalingConfig
from ray.train.huggingface import AccelerateTrainer

def loop(config):
    print(config)

def made(workers=2):
    return AccelerateTrainer(loop, accelerate_config={}, scaling_config=ScalingConfig(num_workers=workers))

"""
TRAINER = "AccelerateTrainer(loop, accelerate_config={}, scaling_config=ScalingConfig(num_workers=2))"


def rule_405(text: str) -> list[Kind]:
    return [finding.kind for finding in convert(HEAD + text).findings if finding.code == "RM405"]


@pytest.mark.parametrize(
    "text",
    [
        f"tune.Tuner({TRAINER}).fit()",
        f"trainer = {TRAINER}\ntune.Tuner(trainer).fit()",
        f"trainer = {TRAINER}\ntune.Tuner(trainable=trainer).fit()",
        f"trainer = {TRAINER}\ntrainer.fit()\ntrainer = {TRAINER}\ntune.Tuner(trainer).fit()",
        f"trainer = None\ntrainer = {TRAINER}\ntune.Tuner(trainer).fit()",
        f"trainer: AccelerateTrainer\ntrainer = {TRAINER}\ntune.Tuner(trainer).fit()",
        f"def search():\n    trainer = {TRAINER}\n    tune.Tuner(trainer).fit()\ntrainer = 1",
    ],
)
def test_a_trainer_in_sight_is_converted(text: str) -> None:
    assert rule_405(text) == [Kind.CONVERTED]


@pytest.mark.parametrize(
    "text",
    [
        f"trainer = {TRAINER}\nif big:\n    trainer = {TRAINER}\ntune.Tuner(trainer).fit()",
        f"trainer = {TRAINER}\nif big:\n    trainer = objective\ntune.Tuner(trainer).fit()",
        f"trainer = {TRAINER} if big else objective\ntune.Tuner(trainer).fit()",
        "tune.Tuner(made()).fit()",
        "trainer = made(4)\ntune.Tuner(trainer).fit()",
        f"def search(trainer):\n    tune.Tuner(trainer).fit()\nsearch({TRAINER})",
        f"class Job:\n    trainer = {TRAINER}\ntune.Tuner(Job.trainer).fit()",
        f"class Job:\n    def a(self): self.trainer = {TRAINER}\n    def b(self): tune.Tuner(self.trainer).fit()",
        f"trainers = {{'a': {TRAINER}}}\ntune.Tuner(trainers['a']).fit()",
        f"trainers = [{TRAINER}]\ntune.Tuner(trainers[0]).fit()",
        f"trainer = {TRAINER}\ntune.Tuner(tune.with_resources(trainer, {{}})).fit()",
        f"trainer = {TRAINER}\ntune.run(trainer)",
        f"trainer = {TRAINER}\ndef search():\n    tune.Tuner(trainer).fit()\ntrainer = {TRAINER}\nsearch()",
    ],
)
def test_a_trainer_that_comes_another_way_is_told(text: str) -> None:
    assert rule_405(text) == [Kind.MANUAL]


@pytest.mark.parametrize("text", ["tune.Tuner(loop).fit()", "tune.Tuner(unknown).fit()", "def f(t): tune.Tuner(t)"])
def test_nothing_is_told_of_what_is_no_trainer(text: str) -> None:
    assert rule_405(text) == []
