"""RM304 of checkpoints that a mock of the report keeps: converted code deletes their folder after the report."""

import pytest

from tests.rules.scripts import converted

SCRIPT = """
from unittest import mock

from ray.air import Checkpoint, session


def train_loop(config):
    session.report({{"loss": 1.0}}, checkpoint=Checkpoint.from_dict({{"model": 1}}))


{test}
"""
KEPT = "its folder is deleted before the test reads it"


def steps(test: str) -> list[str]:
    """What RM304 asks a person to do in a test of the training function."""
    return [message for message in converted(SCRIPT.format(test=test)).messages if "to_dict()" in message]


@pytest.mark.parametrize(
    "test",
    [
        "def test(report):\n    _, kwargs = report.call_args\n    assert kwargs['checkpoint'].to_dict()",
        "def test(report):\n    assert report.call_args.kwargs['checkpoint'].to_dict()",
        "def test(report):\n    for call in report.mock_calls:\n        assert call[2]['checkpoint'].to_dict()",
        "def test(report):\n    checkpoint = report.call_args[1]['checkpoint']\n    assert checkpoint.to_dict()",
        "def test(seen):\n    assert seen[0]['checkpoint'].to_dict()",
        "def test(**kwargs):\n    seen = []\n    assert seen[0]['checkpoint'].to_dict()",
    ],
)
def test_what_a_mock_keeps_has_no_folder(test: str) -> None:
    [step] = steps(test)
    assert KEPT in step


@pytest.mark.parametrize(
    "test",
    [
        "def report(metrics, **kwargs):\n    seen.append(kwargs['checkpoint'].to_dict())",
        "def report(metrics, **kwargs):\n    return lambda: kwargs['checkpoint'].to_dict()",
        "def report(metrics, *, checkpoint=None):\n    seen.append(checkpoint.to_dict())",
        "report = lambda metrics, checkpoint=None: checkpoint.to_dict()",
    ],
)
def test_what_is_called_in_place_of_the_report_reads_the_folder(test: str) -> None:
    [step] = steps(test)
    assert KEPT not in step


def test_a_script_without_mocks_is_told_nothing_of_them() -> None:
    [step] = steps("def restore(state):\n    return state['checkpoint'].to_dict()")
    assert KEPT not in step
