"""RM604: metrics of a result that a method gives whose object comes out of a table of classes."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from ray.air.config import ScalingConfig
from jobs import JOBS, Known, make


def main(name, spec, ds):
    result = {made}
    print(result.metrics["{key}"])
"""


def told(made: str, key: str = "time_total_s") -> list[str]:
    outcome = converted(SCRIPT.format(made=made, key=key))
    assert len(outcome.lines("RM604", Kind.MANUAL)) <= 1
    return [message for message in outcome.messages if message.startswith("If this is the result of a trainer: ")]


@pytest.mark.parametrize("made", ["JOBS[name](spec).run(ds)", "JOBS[name].build(spec).train()"])
@pytest.mark.parametrize("key", ["time_total_s", "training_iteration", "trial_id"])
def test_keys_of_tune_are_told(made: str, key: str) -> None:
    assert any(f'"{key}"' in message for message in told(made, key))


@pytest.mark.parametrize("form", ["job = JOBS[name]; result = job(spec).run(ds)", "result = JOBS[name](spec).run(ds)"])
def test_so_they_are_by_whatever_name_the_class_goes(form: str) -> None:
    script = SCRIPT.format(made="None", key="time_total_s").replace("result = None", form)
    assert converted(script).lines("RM604", Kind.MANUAL)


@pytest.mark.parametrize(
    ("made", "key"),
    [
        ("JOBS[name](spec).run(ds)", "loss"),
        ("JOBS[name](spec).run(ds)", "config"),
        ("make(JOBS[name]).run(ds)", "time_total_s"),
        ("Known(JOBS[name]).run(ds)", "time_total_s"),
        ("JOBS[name](spec).get_best_result()", "time_total_s"),
    ],
)
def test_what_is_known_or_no_key_of_tune_is_not(made: str, key: str) -> None:
    assert not told(made, key)
