"""RM305: a path with the id of a trial was another one in each run; with the name of the run it may be the same."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import os
import time
from pathlib import Path
from ray import train
from ray.air import session
from ray.air.config import RunConfig
from ray.train.torch import TorchTrainer

def loop(config):
    {use}

TorchTrainer(loop, run_config={config}).fit()
"""
NAMED = 'RunConfig(name="mine")'


@pytest.mark.parametrize(
    ("use", "config", "count"),
    [
        ('out = f"out/{session.get_trial_id()}"', NAMED, 1),
        ('out = os.path.join("out", session.get_trial_name())', NAMED, 1),
        ('out = Path("out") / session.get_trial_id()', NAMED, 1),
        ('out = "out/" + session.get_trial_id() + ".txt"', NAMED, 1),
        ('out = "out/{}".format(session.get_trial_id())', NAMED, 1),
        ('out = "out/%s" % train.get_context().get_trial_id()', NAMED, 1),
        ("trial = session.get_trial_id()\n    os.makedirs(trial)", NAMED, 1),
        ("print(session.get_trial_id())\n    os.makedirs(session.get_trial_id())", NAMED, 1),
        ('a = f"a/{session.get_trial_id()}"\n    b = f"b/{train.get_context().get_trial_id()}"', NAMED, 1),
        ("print(session.get_trial_id())", NAMED, 0),
        ('print(f"1/2 {session.get_trial_id()}")', NAMED, 0),
        ('text = ", ".join([session.get_trial_id()])', NAMED, 0),
        ('out = f"out/{session.get_trial_id()}"', "None", 0),
        ('out = f"out/{session.get_trial_id()}"', 'RunConfig(name=f"mine-{time.time()}")', 0),
        ('out = f"out/{session.get_experiment_name()}"', NAMED, 0),
    ],
)
def test_a_path_that_is_the_same_each_time_is_noted_once(use: str, config: str, count: int) -> None:
    outcome = converted(SCRIPT.format(use=use, config=config))
    noted = [message for message in outcome.messages if "the next run finds what" in message]
    assert len(noted) == len(outcome.lines("RM305", Kind.NOTE)) == count


def test_the_id_of_a_trial_of_tune_is_another_one_each_time() -> None:
    script = """
        from ray import tune
        from ray.air import session
        from ray.air.config import RunConfig

        def objective(config):
            out = f"out/{session.get_trial_id()}"

        tune.Tuner(objective, run_config=RunConfig(name="mine")).fit()
    """
    assert not converted(script).lines("RM305", Kind.NOTE)
