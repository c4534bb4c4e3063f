"""RM604 and RM605: results that a decorated function gives."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

DECORATED = """
import functools
import ray
import {home}
from ray.air import session
from ray.train.torch import TorchTrainer

def timed(function):
    return lambda *given: function(*given)

def loop(config):
    session.report({{"loss": 1.0}})

class Job:
    @{decorator}
    def run(self):
        return TorchTrainer(loop).fit()

@{decorator}
def run():
    return TorchTrainer(loop).fit()

result = {call}
print(result.metrics["time_total_s"])
print(result.log_dir)
"""


@pytest.mark.parametrize(
    ("home", "decorator", "call"),
    [
        ("prefect", 'prefect.flow(name="x")', "run()"),
        ("prefect", "functools.lru_cache", "run()"),
        ("own", "own.flow", "run()"),
        ("own", "own.retry(3)", "Job().run()"),
        ("own", "timed", "run()"),
        ("own", "ray.remote", "ray.get(run.remote())"),
        ("own", "ray.remote(num_cpus=1)", "ray.get(run.options(num_cpus=2).remote())"),
    ],
)
def test_the_result_of_a_decorated_function_is_one(home: str, decorator: str, call: str) -> None:
    outcome = converted(DECORATED.format(home=home, decorator=decorator, call=call))
    assert len(outcome.lines("RM604", Kind.MANUAL)) == len(outcome.lines("RM605", Kind.MANUAL)) == 1
    assert "print(result.path)" in outcome.text


@pytest.mark.parametrize("call", ["own.run()", "ray.get(own.run.remote())", "ray.get(run)", "own.get(run.remote())"])
def test_what_other_functions_give_is_no_result(call: str) -> None:
    outcome = converted(DECORATED.format(home="own", decorator="ray.remote", call=call))
    assert not [found for found in outcome.findings if found[0] == "RM604" or found[:2] == ("RM605", Kind.MANUAL)]
