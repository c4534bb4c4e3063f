"""RM854: a schedule that is made under a condition is prepared under it too; without it its name has no value."""

from textwrap import indent

import pytest

from tests.rules.test_to_accelerate import HEAD, OPTIM, STEP, accelerated, refusal

MADE = (
    "import argparse\nargs = argparse.Namespace(warm=True)\nwarm = True\n"
    f"scheduler = {OPTIM}.LinearLR(optimizer, 1, 0, len(loader))\n"
)
LOOP = f"for x, y in loader:\n    x, y = x.to(device), y.to(device)\n{STEP}"


def made_if(test: str, before: str = "") -> str:
    lines = MADE.splitlines(keepends=True)
    return "".join([*lines[:3], before, f"if {test}:\n    {lines[3]}"])


@pytest.mark.parametrize("test", ["warm", "args.warm", "not args.warm and warm == 1"])
def test_the_condition_is_asked_again(test: str) -> None:
    text = accelerated(made_if(test), LOOP, f"    if {test}:\n        scheduler.step()\n").text
    prepared = "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)\n"
    assert f"{prepared}if {test}:\n    scheduler = accelerator.prepare(scheduler)\nfor x, y" in text


def test_one_that_is_none_otherwise_is_prepared_with_the_rest() -> None:
    text = accelerated(
        made_if("warm", "scheduler = None\n"), LOOP, "    if scheduler:\n        scheduler.step()\n"
    ).text
    assert "accelerator.prepare(\n    model, optimizer, loader, scheduler\n)\nfor x, y in loader" in text


@pytest.mark.parametrize("test", ["loader.pop()", "(left := data.pop())"])
def test_a_condition_that_may_be_another_by_then_keeps_the_loop(test: str) -> None:
    reason = refusal(made_if(test), LOOP, "    if warm:\n        scheduler.step()\n", head=HEAD)
    assert "`scheduler` is made under a condition which cannot be asked again" in reason


def test_a_condition_of_the_whole_training_is_none_of_the_schedule() -> None:
    lines = MADE.splitlines(keepends=True)
    script = indent("".join([HEAD.partition("device =")[2], lines[3], LOOP, "    scheduler.step()\n"]), "    ")
    start = HEAD.partition("device =")[0]
    for test in ('__name__ == "__main__"', "data.pop()"):
        text = accelerated(f"{start}if {test}:\n    device ={script.lstrip()}", head="").text
        assert "    model, optimizer, loader, scheduler = accelerator.prepare(\n" in text


KINDS = (
    "import argparse\nkind = argparse.Namespace(name='a').name\n"
    "if kind == 'a':\n    {a}\nelif kind == 'b' or kind == 'c':\n    {b}\n"
)
MAKES, PASSES = MADE.splitlines()[3], "pass"
GUARDED = "    if kind != 'none':\n        scheduler.step()\n"


def test_one_that_some_branches_make_is_prepared_where_these_are_taken() -> None:
    text = accelerated(KINDS.format(a=MAKES, b=MAKES), LOOP, GUARDED).text
    assert "\nif kind == 'a' or kind == 'b' or kind == 'c':\n    scheduler = accelerator.prepare(scheduler)\n" in text


def test_one_that_each_branch_makes_is_prepared_with_the_rest() -> None:
    text = accelerated(KINDS.format(a=MAKES, b=MAKES) + f"else:\n    {MAKES}\n", LOOP, "    scheduler.step()\n").text
    assert "loader, scheduler = accelerator.prepare(" in text
    assert "accelerator.prepare(scheduler)" not in text


@pytest.mark.parametrize(
    "lines", [KINDS.format(a=PASSES, b=MAKES), KINDS.format(a=MAKES, b=PASSES) + f"else:\n    {MAKES}\n"]
)
def test_branches_that_no_condition_tells_apart_keep_the_loop(lines: str) -> None:
    assert "`scheduler` is made under a condition which cannot be asked again" in refusal(
        lines, LOOP, GUARDED, head=HEAD
    )
