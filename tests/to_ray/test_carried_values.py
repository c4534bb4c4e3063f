"""RM823: what epochs hand on to each other goes into the checkpoint with the epoch, where it surely is a number."""

import json
import textwrap

import pytest

from raymigrate.base.options import Options
from raymigrate.run.engine import convert
from raymigrate.run.outcome import FileResult

SCRIPT = """\
import argparse

from accelerate import Accelerator


def train(args):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(*make())
    {before}
    for epoch in range(args.epochs):
        for batch in loader:
            loss = model(**batch).loss
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            {step}
        {end}
        accelerator.save_state(f"epoch_{epoch}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--stride", type=int, default=4)
    parser.add_argument("--name", default="a")
    train(parser.parse_args())
"""

ADD = "steps += 1"


def converted(before: str = "pass", step: str = "pass", end: str = "pass") -> FileResult:
    text = SCRIPT
    for place, code in (("before", before), ("step", step), ("end", end)):
        [line] = [line for line in text.splitlines() if line.strip() == f"{{{place}}}"]
        text = text.replace(line, textwrap.indent(code, line[: line.index("{")]))
    return convert(text, options=Options(to_ray=True))


def kept(result: FileResult) -> list[str]:
    """The names that are read back when a run goes on; each is saved, too."""
    after = str(result.after)
    [saved] = [line for line in after.splitlines() if "set_metadata" in line]
    read = [line.split(" = ")[0].strip() for line in after.splitlines() if "get_metadata" in line and "+ 1" not in line]
    assert saved.count(":") == 1 + len(read)
    for name in read:
        assert f'"{name}": {name}' in saved
    return read


def told(result: FileResult) -> str:
    return " ".join(finding.message for finding in result.findings if "before the first epoch" in finding.message)


@pytest.mark.parametrize(
    ("before", "step", "end"),
    [
        ("steps = 0", ADD, "pass"),
        ("steps: int = 0", "steps = steps + 1 if batch else steps\nif batch:\n    steps = steps + 1", "pass"),
        ("steps = skipped = 0", "pass", "steps += len(loader)"),
        ("steps = args.epochs * args.stride", ADD, "pass"),
        (
            "start = None\nif args.name:\n    start = int(args.name)\nsteps = 0 if start is None else start // 2",
            ADD,
            "pass",
        ),
        ("steps = float('inf')", "pass", "mean = loss.item()\nif mean < steps:\n    steps = mean"),
        ("steps = None", "pass", "mean = loss.item()\nif steps is None or mean < steps:\n    steps = mean"),
        ("steps = 0", ADD, "mean = loss.item()\nif mean < 1:\n    mean, steps = 0.0, 0"),
    ],
)
def test_a_number_that_goes_from_epoch_to_epoch_is_kept(before: str, step: str, end: str) -> None:
    result = converted(before, step, end)
    assert kept(result) == ["steps"]
    assert not told(result)


@pytest.mark.parametrize(
    ("before", "end"),
    [
        ("best = None", "score = loss.detach()\nif best is None or score < best:\n    best = score"),
        ("best = float('inf')", "score = evaluate(model)\nif score < best:\n    best = score"),
        ("best = -1", "if ask():\n    best = gathered(loss)"),
    ],
)
def test_what_may_be_a_tensor_is_told(before: str, end: str) -> None:
    result = converted(before, end=end)
    assert kept(result) == []
    assert "has best as before the first epoch" in told(result)


@pytest.mark.parametrize(
    ("before", "step", "end"),
    [
        ("total = 0", "total += 1", "total = 0"),  # begins anew in each epoch
        ("pass", "rows = 0\nif batch:\n    rows = 1", "pass"),
        ("scale = 2", "loss = loss * scale", "pass"),  # never changed
        ("losses = []", "losses += [1]", "pass"),
    ],
)
def test_what_an_epoch_does_not_get_from_the_one_before_is_no_news(before: str, step: str, end: str) -> None:
    result = converted(before, step, end)
    assert kept(result) == []
    assert not told(result)


def test_numbers_come_back_as_they_were() -> None:
    """Ray writes the metadata of a checkpoint as JSON (ray/train/_checkpoint.py, set_metadata)."""
    for number in (3, 0.1 + 0.2, float("inf"), None):
        assert json.loads(json.dumps({"best": number}))["best"] == number
