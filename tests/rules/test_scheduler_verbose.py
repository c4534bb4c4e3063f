"""RM693: torch's learning rate schedulers take no verbose= any more."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted
from tests.rules.test_to_accelerate import HEAD, LOOP

SCRIPT = """import ray
import torch
from torch.optim import lr_scheduler
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from job import optimizer, watched

{code}
"""
OWN = """class Warmup(LRScheduler):
    def __init__(self, optimizer, last_epoch=-1, verbose=False):
        super({owner}).__init__({given})"""
WITHIN = """
        class Other(dict):
            def __init__(self, a, b, c):
                super().__init__(a, b, c)"""


@pytest.mark.parametrize(
    ("code", "now"),
    [
        ('s = ReduceLROnPlateau(optimizer, "max", verbose=True)', 's = ReduceLROnPlateau(optimizer, "max")'),
        ("s = lr_scheduler.StepLR(optimizer, 30, verbose=1 < 2)", "s = lr_scheduler.StepLR(optimizer, 30)"),
        (
            "s = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, verbose=False, total_steps=9)",
            "s = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=9)",
        ),
    ],
)
def test_it_is_left_out(code: str, now: str) -> None:
    outcome = converted(SCRIPT.format(code=code))
    assert outcome.text == SCRIPT.format(code=now)
    assert outcome.findings == [("RM693", Kind.CONVERTED, 8)]


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ('settings = {"patience": 2, "verbose": True}\ns = ReduceLROnPlateau(optimizer, **settings)', 9),
        (OWN.format(owner="", given="optimizer, last_epoch, verbose"), 10),
        (OWN.format(owner="Warmup, self", given="optimizer, verbose=verbose"), 10),
        (OWN.replace("super({owner})", "LRScheduler").format(given="self, optimizer, last_epoch, verbose"), 10),
        (OWN.replace("LRScheduler", "lr_scheduler.StepLR").format(owner="", given="optimizer, 3, verbose=verbose"), 10),
        (
            OWN.replace("LRScheduler", "lr_scheduler.StepLR").format(owner="", given="optimizer, 3, 0.1, -1, verbose"),
            10,
        ),
        ("s = lr_scheduler.StepLR(optimizer, 3, 0.1, -1, True)", 8),
        ('s = ReduceLROnPlateau(optimizer, "min", 0.1, 10, 1e-4, "rel", 0, 0, 1e-8, True)', 8),
        ("from functools import partial\nmake = partial(ReduceLROnPlateau, verbose=True)\ns = make(optimizer)", 9),
        ("kind = ReduceLROnPlateau\ns = kind(optimizer, verbose=True)", 9),
        ("s = (ReduceLROnPlateau if watched else lr_scheduler.StepLR)(optimizer, verbose=True)", 8),
        ('s = getattr(lr_scheduler, "StepLR")(optimizer, 3, verbose=True)', 8),
    ],
)
def test_one_that_comes_another_way_is_told(code: str, line: int) -> None:
    outcome = converted(SCRIPT.format(code=code))
    assert outcome.text == SCRIPT.format(code=code)
    assert outcome.findings == [("RM693", Kind.MANUAL, line)]


@pytest.mark.parametrize(
    "code",
    [
        "s = ReduceLROnPlateau(optimizer, patience=2)",
        "s = watched.ReduceLROnPlateau(optimizer, verbose=True)",
        OWN.format(owner="", given="optimizer, last_epoch"),
        OWN.replace("LRScheduler", "lr_scheduler.StepLR").format(owner="", given="optimizer, 3, 0.1"),
        "kinds = {1: watched.Loud}\ns = kinds[1](optimizer, 3, verbose=True)",
        f"{OWN.format(owner='', given='optimizer')}\n{WITHIN}",
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
