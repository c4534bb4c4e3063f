"""RM806: a schedule that a Trainer is given, or makes itself, is told where it counts the steps of one process."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import os
import sys
import torch
from transformers import AutoModel, Trainer, TrainingArguments, get_cosine_schedule_with_warmup
from job import rows

model = AutoModel.from_pretrained("bert")
optimizer = torch.optim.AdamW(model.parameters())
steps = len(rows) // 16 * 3
processes = int(os.environ.get("WORLD_SIZE", 1))


class Mine(Trainer):
    def create_scheduler(self, num_training_steps, optimizer=None):
        self.lr_scheduler = torch.optim.lr_scheduler.LinearLR(self.optimizer, total_iters={own})
        return self.lr_scheduler


def made(model, count):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / count)


schedule = {schedule}
trainer = {trainer}(model, args=TrainingArguments("out"{limit}), train_dataset=rows{given})
{after}
trainer.train()
"""
COSINE = "get_cosine_schedule_with_warmup(optimizer, 0, {})"
BOTH = ", optimizers=(optimizer, schedule)"
COUNTED = COSINE.format("steps")
RATES = "torch.optim.lr_scheduler.LambdaLR(optimizer, [abs] * len(optimizer.param_groups))"


def told(
    schedule: str = "None",
    given: str = "",
    *,
    trainer: str = "Trainer",
    own: str = "1",
    limit: str = "",
    after: str = "",
    workers: int = 2,
) -> list[str]:
    """What is said of schedules."""
    script = SCRIPT.format(schedule=schedule, given=given, trainer=trainer, own=own, limit=limit, after=after)
    outcome = converted(script, to_ray=True, workers=workers, gpu=False)
    found = [message for message in outcome.messages if "through only the first 1/N" in message]
    assert len(found) <= len(outcome.lines("RM806", Kind.MANUAL))
    return found


@pytest.mark.parametrize(
    ("schedule", "options"),
    [
        (COUNTED, {"given": BOTH}),
        (COUNTED, {"given": ", optimizers=[optimizer, schedule]"}),
        (COUNTED, {"given": ', **{"optimizers": (optimizer, schedule)}'}),
        (COUNTED, {"after": "trainer.lr_scheduler = schedule"}),
        ("None", {"given": ", optimizers=made(model, steps)"}),
        ("None", {"trainer": "Mine", "own": "len(self.train_dataset) // 16"}),
    ],
)
def test_a_length_in_rows_is_that_of_one_process(schedule: str, options: dict[str, str]) -> None:
    (message,) = told(schedule, **options)  # type: ignore[arg-type]
    assert "of the steps, and are" in message


@pytest.mark.parametrize(
    ("schedule", "options"),
    [
        (COSINE.format("1000"), {"given": BOTH}),  # of which nobody knows what it was worked out from
        (COSINE.format("steps // processes"), {"given": BOTH}),
        ("torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=len(rows))", {"given": BOTH}),
        (COUNTED, {"given": BOTH, "limit": ", max_steps=100"}),
        (COUNTED, {"given": BOTH, "after": "trainer.args.max_steps = 100"}),
        (COUNTED, {"given": BOTH, "after": 'setattr(trainer.args, "max_steps", 100)'}),
        (COUNTED, {"given": ", optimizers=(optimizer, None)"}),
        (RATES, {"given": BOTH}),
        ("None", {"trainer": "Mine", "own": "num_training_steps"}),
        ("None", {"trainer": "Mine", "own": "len(self.get_train_dataloader()) * 3"}),
    ],
)
def test_other_lengths_hold_for_any_number_of_workers(schedule: str, options: dict[str, str]) -> None:
    assert told(schedule, **options) == []  # type: ignore[arg-type]


def test_one_worker_takes_all_steps() -> None:
    assert told(COUNTED, BOTH, workers=1) == []


def test_a_number_of_steps_that_may_be_given_is_named() -> None:
    given = ", max_steps=int(sys.argv[1])"
    for options in ({"limit": given}, {"after": "if sys.argv:\n    trainer.args.max_steps = 100"}):
        (message,) = told(COUNTED, BOTH, **options)
        assert "of the steps, unless max_steps= says how many, and are" in message
    (message,) = told(COUNTED, BOTH, limit=", max_steps=100", after="trainer.args.set_training(1e-4)")
    assert "of the steps, and are" in message
