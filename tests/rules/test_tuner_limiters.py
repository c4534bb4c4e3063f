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
    {below}
    config = TuneConfig(num_samples=4, search_alg=algorithm)
    return Tuner(trainer, param_space={{"train_loop_config": {{"lr": uniform(0, 1)}}}}, tune_config=config).fit()


parser = argparse.ArgumentParser()
parser.add_argument("--at-once", type=int, default=3)
search(parser.parse_args())
"""


@pytest.mark.parametrize("number", ["4", "options.at_once", "Settings.at_once", "options.tuning.at_once"])
def test_a_number_that_stays_the_same_moves_into_the_tune_config(number: str) -> None:
    outcome = converted(SCRIPT.format(before="pass", number=number, below="pass"))
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
        ("pass", "options[0].n"),
    ],
)
def test_another_number_is_left(before: str, number: str) -> None:
    outcome = converted(SCRIPT.format(before=before, number=number, below="pass"))
    assert outcome.lines("RM405", Kind.MANUAL) and not outcome.lines("RM405", Kind.CONVERTED)
    assert "ConcurrencyLimiter(HyperOptSearch()" in outcome.text


@pytest.mark.parametrize(
    ("number", "below"),
    [
        ("n", "n = 7"),
        ("n", "n += 1"),
        ("n", "for n in range(3): pass"),
        ("n", "print(n := 4)"),
        ("options.at_once", "options = ask()"),
        ("options.at_once", "del options.at_once"),
    ],
)
def test_a_number_that_is_another_one_further_down_is_left(number: str, below: str) -> None:
    outcome = converted(SCRIPT.format(before="n = 3", number=number, below=below))
    assert outcome.lines("RM405", Kind.MANUAL) and not outcome.lines("RM405", Kind.CONVERTED)
    assert f"ConcurrencyLimiter(HyperOptSearch(), max_concurrent={number})" in outcome.text


def test_a_name_that_is_bound_above_moves() -> None:
    outcome = converted(SCRIPT.format(before="n = 3\n    n = n + 1", number="n", below="pass"))
    assert "max_concurrent_trials=min(n, trials_at_once(scaling_config))" in outcome.text


MADE_ELSEWHERE = """
from ray.air.config import ScalingConfig
from ray.train.torch import TorchTrainer
from ray.tune import TuneConfig, Tuner, uniform
from ray.tune.search import ConcurrencyLimiter
from ray.tune.search.hyperopt import HyperOptSearch

AT_ONCE = 3


def loop(config):
    print(config["lr"])


n = 2
algorithm = ConcurrencyLimiter(HyperOptSearch(), max_concurrent={number})
{below}


def run({more}):
    trainer = TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2))
    config = TuneConfig(num_samples=4, search_alg=algorithm)
    return Tuner(trainer, param_space={{"train_loop_config": {{"lr": uniform(0, 1)}}}}, tune_config=config).fit()
"""


@pytest.mark.parametrize(
    ("number", "below", "more", "moves"),
    [
        ("4", "", "", True),
        ("AT_ONCE", "", "", True),
        ("n", "n = 5", "", False),
        ("AT_ONCE", "", "AT_ONCE=5", False),
    ],
)
def test_a_name_moves_only_to_where_it_is_the_same(number: str, below: str, more: str, moves: bool) -> None:
    outcome = converted(MADE_ELSEWHERE.format(number=number, below=below, more=more))
    assert (f"min({number}, trials_at_once(scaling_config))" in outcome.text) is moves
