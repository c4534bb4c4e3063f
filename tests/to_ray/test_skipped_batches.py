"""A run that goes on from a checkpoint of Ray begins with a whole epoch, whatever the script was started with."""

from textwrap import indent

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome, converted

SCRIPT = """\
import torch
from accelerate import Accelerator, skip_first_batches
args = parse()
def main():
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(*make())
    completed_steps = 0
    starting_epoch = 0
{before}
    if args.resume:
        starting_epoch, resume_step = found(args.resume)
    for epoch in range(starting_epoch, 3):
{inside}
        for step, batch in enumerate(loader):
{at_step}
            loss = model(batch).loss
            accelerator.backward(loss)
            optimizer.step()
            completed_steps += 1
        accelerator.print(epoch, loss.item())
        accelerator.save_state(f"/s/epoch_{{epoch}}")
main()
"""
GUARDED = "if resume_step is not None and epoch == starting_epoch:\n    batches = {skip}\nelse:\n    batches = loader"
SKIP = "accelerator.skip_first_batches(loader, resume_step)"


def run(before: str = "pass", inside: str = "pass", at_step: str = "pass") -> Outcome:
    parts = {"before": indent(before, " " * 4), "inside": indent(inside, " " * 8), "at_step": indent(at_step, " " * 12)}
    return converted(SCRIPT.format(**parts), to_ray=True)


def resumed(outcome: Outcome) -> list[str]:
    """What the converted script gives values where it goes on from a checkpoint of Ray."""
    block = outcome.text.partition("    if checkpoint:\n")[2].partition("\n\n")[0]
    lines = [line.strip() for line in block.splitlines() if " = " in line and "get_metadata" not in line]
    return lines


@pytest.mark.parametrize(
    ("before", "inside", "at_step", "line"),
    [
        ("resume_step = None", GUARDED.format(skip=SKIP), "pass", "resume_step = None"),
        ("resume_step = None", f"if resume_step:\n    batches = {SKIP}", "pass", "resume_step = None"),
        ("pass", f"batches = {SKIP} if resume_step else loader", "pass", "resume_step = None"),
        ("pass", f"if not resume_step:\n    pass\nelse:\n    batches = {SKIP}", "pass", "resume_step = None"),
        ("resume_step = 0", f"if args.resume and resume_step:\n    batches = {SKIP}", "pass", "resume_step = 0"),
        ("resume_step = None", "pass", "if args.resume and step < resume_step:\n    continue", "resume_step = 0"),
        ("resume_step = None", "pass", "if resume_step and step < resume_step:\n    continue", "resume_step = None"),
        ("resume_step = 0", "pass", "if resume_step > step:\n    continue", "resume_step = 0"),
        ("first = 0", "batches = skip_first_batches(loader, num_batches=first)", "pass", "first = 0"),
        ("first = found(args)", "batches = skip_first_batches(loader, first)", "pass", "first = 0"),
    ],
)
def test_no_batch_is_skipped_by_what_the_script_was_started_with(
    before: str, inside: str, at_step: str, line: str
) -> None:
    assert resumed(run(before, inside, at_step)) == [line]


@pytest.mark.parametrize(
    ("before", "inside", "at_step"),
    [
        ("resume_step = completed_steps", "pass", "print(completed_steps - resume_step)"),
        ("resume_step = None", "print(resume_step)", "pass"),
    ],
)
def test_a_number_by_which_nothing_is_skipped_stays_and_is_named(before: str, inside: str, at_step: str) -> None:
    outcome = run(before, inside, at_step)
    assert resumed(outcome) == []
    assert len([message for message in outcome.messages if "has resume_step as before the first epoch" in message]) == 1


@pytest.mark.parametrize(
    ("before", "inside", "at_step"),
    [
        ("pass", "batches = skip_first_batches(loader, args.skipped)", "pass"),
        ("pass", "batches = skip_first_batches(loader, args.steps % len(loader))", "pass"),
        ("resume_step = found(1)", f"batches = {SKIP}", "print(1 / resume_step)"),
        ("resume_step = None", f"batches = {SKIP}", "print(completed_steps - resume_step)"),
        ("global resume_step", f"batches = {SKIP}", "pass"),
    ],
)
def test_what_may_be_skipped_is_told_where_it_is_not_sure(before: str, inside: str, at_step: str) -> None:
    outcome = run(before, inside, at_step)
    assert resumed(outcome) == []
    assert len(outcome.lines("RM823", Kind.MANUAL)) == 1


@pytest.mark.parametrize(
    ("before", "inside"),
    [
        ("pass", "pass"),
        ("pass", "batches = skip_first_batches(loader, completed_steps % len(loader))"),
        ("pass", "first = completed_steps % len(loader)\nbatches = skip_first_batches(loader, first)"),
        ("resume_step = 0\nif resume_step > 3:\n    print()", "pass"),
    ],
)
def test_what_comes_of_the_checkpoint_or_is_not_read_stays(before: str, inside: str) -> None:
    outcome = run(before, inside)
    assert resumed(outcome) == []
    assert not [message for message in outcome.messages if "begins with a whole epoch" in message]
    assert not [message for message in outcome.messages if "as before the first epoch." in message]
