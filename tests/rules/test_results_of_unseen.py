"""RM604: log_dir of what methods of unknown objects gave, by the name of a result."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

LEGACY = """
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersCheckpoint
from torch.utils.tensorboard import SummaryWriter
from jobs import TRAINERS, config

"""
OWN = "class Own:\n    def train(self):\n        return Outcome()\n\n\nclass Outcome:\n    log_dir = 'logs'\n\n\n"


def told(script: str, head: str = LEGACY) -> list[str]:
    outcome = converted(head + script)
    assert not outcome.lines("RM604", Kind.CONVERTED)
    return [message for message in outcome.messages if "result.log_dir" in message]


@pytest.mark.parametrize(
    "script",
    [
        "job = TRAINERS['own'](config)\nresult = job.train()\nprint('log dir', result.log_dir)\n",
        "RESULT = TRAINERS['own'](config).train()\nprint(RESULT.log_dir)\n",
        "def show(job):\n    train_result = job.run(config)\n    return train_result.log_dir\n",
        "class Job:\n    def run(self):\n        self.result = self.make().go()\n        use(self.result.log_dir)\n",
        "def show(factory):\n    result = factory.create('own').train()\n    open(f'{result.log_dir}/x')\n",
    ],
)
def test_a_result_of_an_object_out_of_a_registry(script: str) -> None:
    (message,) = told(script)
    assert message.startswith("If this is a result of Ray")


@pytest.mark.parametrize(
    "script",
    [
        f"{OWN}result = Own().train()\nprint(result.log_dir)\n",
        "writer = SummaryWriter()\nprint(writer.log_dir)\n",
        "class Jobs:\n    class Outcome:\n        log_dir = 'x'\n\n\nresult = Jobs.Outcome()\nprint(result.log_dir)\n",
        "def show(job):\n    found = job.run()\n    return found.log_dir\n",
        "def show(job):\n    result = job.run()\n    return result.log_dir if hasattr(result, 'log_dir') else ''\n",
        "def show(job):\n    result = job.run()\n    result.log_dir = 'here'\n",
        "result = config\nprint(result.log_dir)\n",
        "import argparse\nparser = argparse.ArgumentParser()\nresult = parser.parse_args()\nprint(result.log_dir)\n",
        "import re\nresult = re.compile('x').match(config)\nprint(result.log_dir)\n",
        "def show(job):\n    result = job.fit()\n    return result.log_dir if hasattr(result, 'log_dir') else ''\n",
        "def show(job):\n    result = job.fit()\n    result.log_dir = 'here'\n",
    ],
)
def test_other_objects_may_have_it(script: str) -> None:
    assert told(script) == []


def test_only_in_what_was_written_for_old_ray() -> None:
    script = "def show(job):\n    train_result = job.run(config)\n    return train_result.log_dir\n"
    assert told(script) and not told(script, head="import ray\nfrom jobs import config\n\n")


def test_what_another_rule_tells_of_is_told_once() -> None:
    script = "from ray.train.rl import RLTrainer\nresult = RLTrainer(algorithm='PPO').fit()\nuse(result.log_dir)\n"
    (message,) = told(script)
    assert not message.startswith("If this is")


def test_what_fit_gave_is_told_once() -> None:
    (message,) = told("result = TRAINERS['own'](config).fit()\nprint(result.log_dir)\n")
    assert message.startswith("If this is the result of a trainer")
