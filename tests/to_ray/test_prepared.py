"""What several workers change in the use of prepared objects is told, and nothing else."""

import pytest

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.run.engine import convert

SCRIPT = """\
import torch
from accelerate import Accelerator
from transformers import get_linear_schedule_with_warmup, get_scheduler

accelerator = Accelerator()
model, optimizer, loader, test_loader = make()
{before}
model, optimizer, loader, test_loader{more} = accelerator.prepare(model, optimizer, loader, test_loader{more})
{after}
for epoch in range(3):
    for batch in loader:
        accelerator.backward(model(batch).loss)
        optimizer.step()
    {end}
"""


def told_of(script: str) -> list[str]:
    """What a person has to do; that parameters may be unused is a note, of any model that is not seen."""
    found = convert(script, options=Options(to_ray=True)).findings
    return [f.message for f in found if f.code == "RM829" and f.kind is Kind.MANUAL]


def told(before: str = "", after: str = "", end: str = "pass", more: str = "") -> list[str]:
    return told_of(SCRIPT.format(before=before, after=after, end=end, more=more))


LINEAR = "scheduler = get_scheduler('linear', optimizer=optimizer, num_warmup_steps=0, num_training_steps={})"
WARMUP = "scheduler = get_linear_schedule_with_warmup(optimizer, 2, {})"
PREPARED = "\nscheduler = accelerator.prepare(scheduler)"
STEPS = "steps = 3 * len(loader)\n"


@pytest.mark.parametrize(
    ("before", "after", "more", "words"),
    [
        (STEPS + LINEAR.format("steps"), "", ", scheduler", ""),
        (WARMUP.format("len(loader) * 3"), "", ", scheduler", ""),
        ("", STEPS + LINEAR.format("steps"), "", ""),
        ("", WARMUP.format("len(loader)") + PREPARED, "", "it is at its end after 1/N"),
        ("", STEPS + LINEAR.format("steps") + PREPARED, "", "it is at its end after 1/N"),
        (STEPS + LINEAR.format("steps"), PREPARED, "", ""),
        (STEPS + LINEAR.format("steps"), "", "", "only 1/N of it is used"),
        (WARMUP.format("3 * len(loader)"), "", "", "only 1/N of it is used"),
        (LINEAR.format("3 * len(loader) // accelerator.num_processes"), "", "", ""),
        (LINEAR.format("1000"), "", "", ""),
    ],
)
def test_a_schedule_that_several_workers_shorten_is_told(before: str, after: str, more: str, words: str) -> None:
    found = told(before, after, more=more)
    assert len(found) == bool(words)
    assert not words or words in found[0]


COUNT = "with torch.no_grad():\n        for batch in test_loader:\n            {}\n"


@pytest.mark.parametrize(
    ("inside", "count"),
    [
        ("correct += (model(batch) == 1).sum()", 1),
        ("metric.add_batch(predictions=model(batch))", 1),
        ("metric.add_batch(predictions=accelerator.gather_for_metrics(model(batch)))", 0),
        ("model(batch)", 0),
    ],
)
def test_an_evaluation_that_counts_the_rows_of_one_worker_is_told(inside: str, count: int) -> None:
    assert len(told(end=COUNT.format(inside))) == count
