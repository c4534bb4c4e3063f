"""RM911: init functions that Ray never accepted."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = "import pytest\nfrom job import build, make\nfrom ray.train.huggingface import TransformersTrainer\n"


@pytest.mark.parametrize(
    "line",
    [
        "TransformersTrainer(None).fit()",
        "TransformersTrainer(trainer_init_per_worker=None)",
        "INIT = None\nwith pytest.raises(ImportError):\n    TransformersTrainer(INIT)",
    ],
)
def test_none_is_told_and_left(line: str) -> None:
    outcome = converted(f"{HEAD}{line}\n")
    assert len(outcome.lines("RM911", Kind.MANUAL)) == 1
    assert "TorchTrainer" not in outcome.text


@pytest.mark.parametrize(
    "line", ["TransformersTrainer(build)", "init = None\nif make:\n    init = make()\nTransformersTrainer(init)"]
)
def test_functions_that_cannot_be_seen_are_converted(line: str) -> None:
    outcome = converted(f"{HEAD}{line}\n")
    assert not outcome.lines("RM911", Kind.MANUAL)
    assert "TorchTrainer" in outcome.text
