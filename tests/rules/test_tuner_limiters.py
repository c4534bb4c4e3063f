"""RM405: a ConcurrencyLimiter around the search algorithm of a Tuner over a trainer."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import argparse

from ray.air.config import ScalingConfig
from ray.train.torch import TorchTrainer
from ray.tune import TuneConfig, Tuner, uniform
from ray.tune.search import ConcurrencyLimiter
from ray.tune.search.hyperopt import HyperOptSearch


def loop(config):
    print(config["lr"])


class Settings:
    at_once = 2


def search(options):
    {before}
    trainer = TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2))
    algorithm = ConcurrencyLimiter(HyperOptSearch(), max_concurrent={number})
    config = TuneConfig(num_samples=4, search_alg=algorithm)
    return Tuner(trainer, param_space={{"train_loop_config": {{"lr": uniform(0, 1)}}}}, tune_config=config).fit()


parser = argparse.ArgumentParser()
parser.add_argument("--at-once", type=int, default=3)
search(parser.parse_args())
"""


@pytest.mark.parametrize("number", ["4", "options.at_once", "Settings.at_once", "options.tuning.at_once"])
def test_a_number_that_stays_the_same_moves_into_the_tune_config(number: str) -> None:
    outcome = converted(SCRIPT.format(before="pass", number=number))
    assert outcome.lines("RM405", Kind.CONVERTED)
    assert f"max_concurrent_trials=min({number}, trials_at_once(scaling_config))" in outcome.text
    assert "algorithm = HyperOptSearch()" in outcome.text and "ConcurrencyLimiter" not in outcome.text


@pytest.mark.parametrize(
    ("before", "number"),
    [
        ("options.at_once = 1", "options.at_once"),
        ("pass", "ask()"),
        ("pass", "options['at_once']"),
        ("pass", "ask().n"),
    ],
)
def test_another_number_is_left(before: str, number: str) -> None:
    outcome = converted(SCRIPT.format(before=before, number=number))
    assert outcome.lines("RM405", Kind.MANUAL) and not outcome.lines("RM405", Kind.CONVERTED)
    assert "ConcurrencyLimiter(HyperOptSearch()" in outcome.text
