"""RM693: torch's learning rate schedulers take no verbose= any more."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted
from tests.rules.test_to_accelerate import HEAD, LOOP

SCRIPT = """import functools

import ray
import torch
from torch.optim import lr_scheduler
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from job import optimizer, watched

{code}
"""
OWN = """class Warmup(LRScheduler):
    def __init__(self, optimizer, last_epoch=-1, verbose=False):
        super({owner}).__init__({given})"""


@pytest.mark.parametrize(
    ("code", "now"),
    [
        ('s = ReduceLROnPlateau(optimizer, "max", verbose=True)', 's = ReduceLROnPlateau(optimizer, "max")'),
        ("s = lr_scheduler.StepLR(optimizer, 30, verbose=1 < 2)", "s = lr_scheduler.StepLR(optimizer, 30)"),
        (
            "s = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, verbose=False, total_steps=9)",
            "s = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=9)",
        ),
        (
            "s = functools.partial(ReduceLROnPlateau, patience=2, verbose=True)(optimizer)",
            "s = functools.partial(ReduceLROnPlateau, patience=2)(optimizer)",
        ),
    ],
)
def test_it_is_left_out(code: str, now: str) -> None:
    outcome = converted(SCRIPT.format(code=code))
    assert outcome.text == SCRIPT.format(code=now)
    assert outcome.findings == [("RM693", Kind.CONVERTED, 10)]
    name = "StepLR" if "StepLR" in code else "OneCycleLR" if "OneCycleLR" in code else "ReduceLROnPlateau"
    assert outcome.messages[0].startswith(f"{name}(verbose=) raises a TypeError today")


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("s = lr_scheduler.StepLR(optimizer, 30, 0.1, -1, True)", 10),
        ("s = functools.partial(lr_scheduler.StepLR, optimizer, 30, 0.1, -1, True)()", 10),
        (OWN.replace("LRScheduler", "lr_scheduler.StepLR").format(owner="", given="optimizer, 9, verbose=verbose"), 12),
        (OWN.replace("super({owner})", "LRScheduler").format(given="self, optimizer, last_epoch, verbose"), 12),
        ('settings = {"patience": 2, "verbose": True}\ns = ReduceLROnPlateau(optimizer, **settings)', 11),
        (OWN.format(owner="", given="optimizer, last_epoch, verbose"), 12),
        (OWN.format(owner="Warmup, self", given="optimizer, verbose=verbose"), 12),
    ],
)
def test_one_that_comes_another_way_is_told(code: str, line: int) -> None:
    outcome = converted(SCRIPT.format(code=code))
    assert outcome.text == SCRIPT.format(code=code)
    assert outcome.findings == [("RM693", Kind.MANUAL, line)]
    assert outcome.messages[0].partition("(")[0] in ("StepLR", "LRScheduler", "ReduceLROnPlateau")


@pytest.mark.parametrize(
    "code",
    [
        "s = ReduceLROnPlateau(optimizer, patience=2)",
        "s = watched.ReduceLROnPlateau(optimizer, verbose=True)",
        OWN.format(owner="", given="optimizer, last_epoch"),
        "s = lr_scheduler.StepLR(optimizer, 30, 0.1, -1)",
        OWN.format(owner="", given="optimizer")
        + "\n        class Loud(watched.Loud):\n            def __init__(self, verbose):\n"
        + "                super().__init__(1, 2, verbose)",
        'class Loud:\n    def __init__(self, verbose):\n        super().__init__("loud", 1, verbose)',
        "try:\n    s = ReduceLROnPlateau(optimizer, verbose=True)\nexcept TypeError:\n    s = None",
    ],
)
def test_nothing_is_said_of_others(code: str) -> None:
    assert converted(SCRIPT.format(code=code)).findings == []


def test_a_native_loop_goes_on_without_it_and_one_that_stays_keeps_it() -> None:
    made = "s = torch.optim.lr_scheduler.StepLR(optimizer, 3{})\n"
    loop = HEAD + made.format(", verbose=True") + LOOP + "s.step()\n"
    assert made.format("") in converted(loop, to_accelerate=True).text
    outcome = converted(loop)
    assert outcome.text == loop
    assert outcome.findings == []


def test_a_class_that_one_of_two_branches_picks_goes_on_without_it() -> None:
    code = "made = lr_scheduler.StepLR if watched else lr_scheduler.ConstantLR\ns = made(optimizer, 3{})"
    outcome = converted(SCRIPT.format(code=code.format(", verbose=True")))
    assert outcome.text == SCRIPT.format(code=code.format(""))
    code = code.replace("lr_scheduler.ConstantLR", "watched.Constant").format(", verbose=True")
    outcome = converted(SCRIPT.format(code=code))
    assert outcome.text == SCRIPT.format(code=code)
    assert len(outcome.lines("RM693", Kind.MANUAL)) == 1


@pytest.mark.parametrize("other", ["None", "made"])
def test_none_is_no_class_that_is_called(other: str) -> None:
    code = f"made = lr_scheduler.StepLR\nmade = made if watched else {other}\ns = made(optimizer, 3{{}})"
    outcome = converted(SCRIPT.format(code=code.format(", verbose=True")))
    assert outcome.text == SCRIPT.format(code=code.format(""))


@pytest.mark.parametrize(
    "code",
    [
        "KINDS = {{'a': lr_scheduler.StepLR, 'b': lr_scheduler.ConstantLR}}\ns = KINDS[watched](optimizer, {given})",
        "def made(**more):\n    kinds = [lr_scheduler.StepLR, ReduceLROnPlateau]\n"
        "    return kinds[watched](optimizer, **more)\nmade({given})",
        "KINDS = dict(step=lr_scheduler.StepLR)\nkind = KINDS[watched]\ns = kind(optimizer, {given})",
        "class Job:\n    KINDS = {{'step': lr_scheduler.StepLR}}\n    def made(self):\n"
        "        return self.KINDS[watched](optimizer, {given})",
    ],
)
def test_a_class_that_is_looked_up_is_told(code: str) -> None:
    outcome = converted(SCRIPT.format(code=code.format(given="verbose=True")))
    assert outcome.text == SCRIPT.format(code=code.format(given="verbose=True"))
    assert len(outcome.lines("RM693", Kind.MANUAL)) == 1
    assert converted(SCRIPT.format(code=code.format(given="last_epoch=3"))).findings == []


def test_other_things_that_are_looked_up_may_take_it() -> None:
    code = "KINDS = {'step': lr_scheduler.StepLR, 'own': watched.Own}\ns = KINDS[watched](optimizer, verbose=True)"
    outcome = converted(SCRIPT.format(code=code))
    assert outcome.text == SCRIPT.format(code=code)
    assert len(outcome.lines("RM693", Kind.MANUAL)) == 1  # where it is that of torch
    assert converted(SCRIPT.format(code=code.replace("lr_scheduler.StepLR", "watched.Other"))).findings == []


def test_a_value_that_binds_a_name_stays() -> None:
    code = "s = ReduceLROnPlateau(optimizer, verbose=(shown := True))\nprint(shown)"
    outcome = converted(SCRIPT.format(code=code))
    assert outcome.text == SCRIPT.format(code=code)
    assert len(outcome.lines("RM693", Kind.MANUAL)) == 1
