"""RM202, RM207: the accelerate_config that a class keeps in an attribute of its objects."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from accelerate import Accelerator
from ray.air import ScalingConfig
from ray.train.huggingface import AccelerateTrainer


def loop(config):
    accelerator = Accelerator()


class Runner:
    {in_body}

    def __init__(self, workers):
        self.workers = workers
        {stored}

    def build(self):
        {before}
        return AccelerateTrainer(
            loop,
            accelerate_config=self.settings,
            scaling_config=ScalingConfig(num_workers=self.workers, use_gpu=True),
        )

{more}
Runner(2).build().fit()
"""
STORED = 'self.settings = {"mixed_precision": "bf16"}'
AS_GIVEN = {"in_body": "kind = 1", "stored": STORED, "before": "pass", "more": ""}


def test_a_dict_that_is_stored_once_is_read_and_goes() -> None:
    outcome = converted(SCRIPT.format(**AS_GIVEN))
    assert 'Accelerator(mixed_precision="bf16")' in outcome.text
    assert "settings" not in outcome.text and "AccelerateTrainer" not in outcome.text


@pytest.mark.parametrize(
    "change",
    [
        {"stored": "pass", "in_body": 'settings = {"mixed_precision": "bf16"}'},
        {"before": "print(self.settings)"},
        {"more": "print(vars(Runner(1)))"},
        {"stored": "if workers:\n            " + STORED},
    ],
    ids=["of the class", "read", "all attributes", "alone in its block"],
)
def test_what_else_may_need_it_stays(change: dict[str, str]) -> None:
    outcome = converted(SCRIPT.format(**{**AS_GIVEN, **change}))
    assert 'Accelerator(mixed_precision="bf16")' in outcome.text
    assert 'settings = {"mixed_precision": "bf16"}' in outcome.text


@pytest.mark.parametrize(
    "change",
    [
        {"before": 'self.settings["mixed_precision"] = "no"'},
        {"before": "self.settings.update(read())"},
        {"more": 'class Other(Runner):\n    def __init__(self):\n        self.settings = {"mixed_precision": "no"}\n'},
        {"more": "class Other(Runner):\n    settings = {}\n"},
        {"more": 'runner = Runner(1)\nrunner.settings = {"mixed_precision": "no"}\n'},
        {"stored": "self.settings = read(workers)"},
    ],
    ids=["item", "update", "derived", "derived body", "from outside", "unseen"],
)
def test_a_dict_that_may_be_another_is_told(change: dict[str, str]) -> None:
    outcome = converted(SCRIPT.format(**{**AS_GIVEN, **change}))
    assert outcome.lines("RM207", Kind.MANUAL)
    assert "AccelerateTrainer(" in outcome.text and "accelerate_config=self.settings" in outcome.text
