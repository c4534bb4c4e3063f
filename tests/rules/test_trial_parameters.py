"""RM414: parameters of Tune functions that Tune filled once."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from functools import partial

from ray import tune
from ray.air import session


def trial({parameters}):
    print({read})
    session.report({{"loss": 1}})


{use}
"""
USES = [
    "tune.run(trial)",
    "tune.Tuner(trial).fit()",
    "tune.Tuner(trainable=tune.with_parameters(trial, data=1)).fit()",
    "tune.Tuner(tune.with_resources(tune.with_parameters(trial, data=1), {'cpu': 1})).fit()",
    "tune.run(partial(trial, data=1))",
    "wrapped = partial(trial, data=1)\ntune.run(tune.with_resources(wrapped, {'cpu': 1}))",
    "tune.register_trainable('trial', trial)",
]


def told(parameters: str, use: str, read: str = "checkpoint_dir") -> list[str]:
    outcome = converted(SCRIPT.format(parameters=parameters, use=use, read=read))
    assert set(outcome.lines("RM414", Kind.MANUAL)) <= {7}
    return [message for message in outcome.messages if message.startswith("Current Ray calls a Tune function")]


@pytest.mark.parametrize("use", USES)
def test_the_folder_of_a_checkpoint_is_no_longer_handed_over(use: str) -> None:
    (message,) = told("config, checkpoint_dir=None, data=None", use)
    assert "begins anew" in message and "ray.tune.get_checkpoint()" in message


@pytest.mark.parametrize("use", USES)
def test_a_reporter_raises(use: str) -> None:
    (message,) = told("config, reporter, data=None", use, "reporter")
    assert "raises a ValueError" in message and "ray.tune.report({...})" in message


def test_a_folder_by_name_only_is_told_too() -> None:
    assert len(told("config, *, checkpoint_dir=None", USES[0])) == 1


@pytest.mark.parametrize(
    ("parameters", "use", "read"),
    [
        ("config, checkpoint_dir=None", USES[0], "config"),  # never read
        ("config, checkpoint_dir=None", "tune.run(partial(trial, checkpoint_dir='x'))", "checkpoint_dir"),
        ("config, checkpoint_dir=None", "tune.run(tune.with_parameters(trial, checkpoint_dir='x'))", "checkpoint_dir"),
        ("config, checkpoint_dir", "tune.run(lambda config: trial(config, 'x'))", "checkpoint_dir"),
        ("config, checkpoint_dir", "tune.run(partial(trial, **{'checkpoint_dir': 'x'}))", "checkpoint_dir"),
        ("config, folder=None", USES[0], "folder"),
        ("config, checkpoint_dir=None", "own.run(trial)", "checkpoint_dir"),
    ],
)
def test_what_somebody_fills_is_not(parameters: str, use: str, read: str) -> None:
    assert not told(parameters, use, read)


def test_the_methods_of_a_class_are_not() -> None:
    script = """
    from ray import tune


    class Trial(tune.Trainable):
        def load_checkpoint(self, checkpoint_dir):
            print(checkpoint_dir)


    tune.run(Trial)
    """
    assert not converted(script).lines("RM414", Kind.MANUAL)
