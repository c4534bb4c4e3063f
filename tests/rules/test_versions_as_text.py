"""RM690: Ray's version, compared as a text."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import importlib.metadata
import ray
from packaging import version
from ray.train.torch import TorchTrainer

VERSION = ray.__version__

if {test}:
    print(TorchTrainer)
"""
LATE = "False with Ray 2.51 to 2.69"


@pytest.mark.parametrize(
    ("test", "answer"),
    [
        ('ray.__version__ >= "2.7"', LATE),
        ('ray.__version__ >= "2.7.0"', LATE),
        ('ray.__version__ > "2.9"', "False with Ray 2.51 to 2.89"),
        ('ray.__version__ < "2.7"', "True with Ray 2.51 to 2.69"),
        ('"2.7" <= ray.__version__', LATE),
        ('"2.0" <= ray.__version__ < "2.7"', "True with Ray 2.51 to 2.69"),
        ('VERSION >= "2.7"', LATE),
        ('importlib.metadata.version("ray") >= "2.7"', LATE),
        ('not (ray.__version__ >= "2.7")', LATE),
        ('ray.__version__[:3] >= "2.7"', '"2.5" comes before "2.7"'),
        ('ray.__version__[0:3] < "2.7"', "True with Ray 2.51 to 2.69"),
        ('str(ray.__version__) >= "2.7"', LATE),
        ('f"{ray.__version__}" < "2.7"', "True with Ray 2.51 to 2.69"),
        ('VERSION.split(".")[1] < "7"', '"51" comes before "7"'),
        ('"7" <= ray.__version__.split(".")[1]', LATE),
        ('ray.__version__.split(".")[:2] >= ["2", "7"]', LATE),
        ('tuple(ray.__version__.split(".")) >= ("2", "7")', LATE),
        ("float(ray.__version__[:3]) >= 2.7", "2.5 is less than 2.7"),
        (
            'float(".".join(ray.__version__.split(".")[:2])) >= 2.7',
            "compares decimal numbers, not versions, and is False",
        ),
    ],
)
def test_a_comparison_of_texts_that_is_wrong_today_is_told(test: str, answer: str) -> None:
    outcome = converted(SCRIPT.format(test=test))
    assert len(outcome.lines("RM690", Kind.MANUAL)) == 1
    assert any(answer in message for message in outcome.messages)


@pytest.mark.parametrize(
    "test",
    [
        'version.parse(ray.__version__) >= version.parse("2.7")',
        'ray.__version__ >= "2.10"',
        'ray.__version__ >= "2.5"',
        'ray.__version__ >= "2"',
        'ray.__version__ == "2.7"',
        'ray.__version__.startswith("2.7")',
        'tuple(map(int, ray.__version__.split("."))) >= (2, 7)',
        'int(ray.__version__.split(".")[1]) < 7',
        'int(ray.__version__.split(".")[1]) >= 7',
        'ray.__version__.split(".")[0] >= "2"',
        "int(ray.__version__[0]) >= 2",
        'ray.__version__[::n] >= "2.7"',
        'ray.__version__[:n] >= "2.7"',
        'norm(ray.__version__) >= "2.7"',
        'other[:3] >= "2.7"',
        'importlib.metadata.version("torch") >= "2.7"',
        'ray.__version__ >= "nightly"',
        'ray.__version__.split(".")[1:] >= ["10"]',
        'ray.__version__.split(".")[:2] >= ["2"]',
        'ray.__version__.split(".").split(".") >= "2.7"',
        'ray.__version__[2:] >= "10"',
        "VERSION >= VERSION",
    ],
)
def test_other_tests_of_versions_are_left_alone(test: str) -> None:
    assert "RM690" not in [code for code, _, _ in converted(SCRIPT.format(test=test)).findings]


def test_python_compares_so() -> None:
    assert min("2.51.0", "2.7") == "2.51.0"
