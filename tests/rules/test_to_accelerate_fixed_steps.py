"""RM854, --to-accelerate: fixed numbers of steps in a prepared schedule, where a script had a DistributedSampler.

Before, 100 were 100 steps of the optimizer in each of N processes; a prepared scheduler is through them after 100/N.
"""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome, converted

OPTIM = "torch.optim.lr_scheduler"
SCRIPT = """
import os
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from functools import partial
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, LinearLR, MultiplicativeLR, MultiStepLR, SequentialLR
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from transformers import get_linear_schedule_with_warmup, get_scheduler, get_wsd_schedule

from job import args, data
{above}

def main():
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    world_size = dist.get_world_size()
    torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    total = 3 * len(loader)
    model = DDP(nn.Linear(4, 2).to(device), device_ids=[local_rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = {made}
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
"""
RATE = """
WARM = 100


def rate(step, total):
    if step < WARM:
        return step / WARM
    return max(0.0, (total - step) / (total - WARM))
"""
PREPARED = "loader, scheduler = accelerator.prepare("


def scheduled(made: str, above: str = "") -> Outcome:
    return converted(SCRIPT.format(made=made, above=above), to_accelerate=True)


def told(outcome: Outcome) -> list[str]:
    return [message for message in outcome.messages if "is reached after 1/N of the optimizer's steps" in message]


@pytest.mark.parametrize(
    ("made", "numbers"),
    [
        (
            "SequentialLR(optimizer, [LinearLR(optimizer, total_iters=100), CosineAnnealingLR(optimizer, total - 100)],"
            " milestones=[100])",
            "`100`",
        ),
        ("MultiStepLR(optimizer, [100, 200, total])", "`100` and `200`"),
        ("MultiStepLR(optimizer, milestones=(args.first, total))", "`args.first`"),
        ("get_linear_schedule_with_warmup(optimizer, num_training_steps=total, **{'num_warmup_steps': 100})", "`100`"),
        ("get_scheduler('linear', optimizer, args.warm, total - args.warm)", "`args.warm`"),
        ("LambdaLR(optimizer, lambda step: min(1, step / 100) * (total - step))", "`100`"),
        ("LambdaLR(optimizer, lr_lambda=[lambda step: step / max(1, args.warm) if step < 50 else 1 / total])", "`50`"),
        ("LambdaLR(optimizer, partial(rate, total=total))", "`WARM`"),
        ("LambdaLR(optimizer, lambda step: 1 if int(step) < 200 else 1 / total)", "`200`"),
        ("LambdaLR(optimizer, lambda step: step / int(args.warm) if step < total else 1)", "`args.warm`"),
        ("SequentialLR(optimizer, [LinearLR(optimizer, total_iters=50)], milestones=[total])", "`50`"),
        ("get_wsd_schedule(optimizer, num_warmup_steps=0, num_decay_steps=200, num_training_steps=total)", "`200`"),
        ("get_wsd_schedule(optimizer, 0, total // 10, num_stable_steps=args.stable)", "`args.stable`"),
        (
            "get_scheduler('warmup_stable_decay', optimizer, 0, total,"
            " scheduler_specific_kwargs={'num_decay_steps': 200, 'min_lr_ratio': 2})",
            "`200`",
        ),
        (
            "get_scheduler('inverse_sqrt', optimizer, num_training_steps=total,"
            " scheduler_specific_kwargs=dict(timescale=args.scale))",
            "`args.scale`",
        ),
    ],
)
def test_numbers_of_steps_beside_counted_ones_are_told(made: str, numbers: str) -> None:
    outcome = scheduled(made, RATE)
    assert PREPARED in outcome.text or "accelerator.prepare(\n" in outcome.text
    [message] = told(outcome)
    assert numbers in message
    assert outcome.lines("RM854", Kind.MANUAL)


@pytest.mark.parametrize(
    "made",
    [
        "get_linear_schedule_with_warmup(optimizer, 0, total)",
        "get_linear_schedule_with_warmup(optimizer, 100, total)",  # multiplied
        "get_linear_schedule_with_warmup(optimizer, int(0.1 * total), total)",
        "SequentialLR(optimizer, [LinearLR(optimizer, total_iters=total // 10), CosineAnnealingLR(optimizer, total)],"
        " milestones=[total // 10])",
        "MultiStepLR(optimizer, [100 * world_size, total])",
        "CosineAnnealingLR(optimizer, total + 1, eta_min=1e-5)",
        "LambdaLR(optimizer, lambda step: max(0.01, 1 - step / total))",
        "LambdaLR(optimizer, lambda step: 0.5 ** (step // len(loader)))",
        "get_scheduler('wsd', optimizer, 0, total, scheduler_specific_kwargs={'num_decay_steps': total // 5})",
    ],
)
def test_lengths_that_are_counted_are_not(made: str) -> None:
    outcome = scheduled(made)
    assert "scheduler = accelerator.prepare(" in outcome.text.replace("(\n        ", "(")
    assert not told(outcome)


RATES = """

def rate(warm, total, step):
    if step < warm:
        return step / warm
    return (total - step) / (total - warm)


def make(warm, total):
    def at(step):
        if step < warm:
            return step / warm
        return (total - step) / (total - warm)
    return at


class Rate:
    def __init__(self, warm, total):
        self.warm = warm
        self.total = total

    def __call__(self, step):
        return min(1, step / self.warm) * (1 - step / self.total)

    def linear(self, step):
        return self(step)


class Warm(torch.optim.lr_scheduler.LRScheduler):
    def __init__(self, optimizer, warmup_steps, total):
        self.warmup_steps, self.total = warmup_steps, total
        super().__init__(optimizer)


for place in range(2):
    again = partial(again, place) if place else rate
"""


@pytest.mark.parametrize(
    ("made", "numbers"),
    [
        ("LambdaLR(optimizer, make({}, total))", "`warm` in it"),
        ("LambdaLR(optimizer, partial(rate, {}, total))", "`warm` in it"),
        ("LambdaLR(optimizer, lambda step: rate({}, total, step))", "`warm` in it"),
        ("LambdaLR(optimizer, [lambda step: rate({}, total, step=step) for _ in range(1)])", "`warm` in it"),
        ("LambdaLR(optimizer, Rate({}, total))", "`self.warm` in it"),
        ("LambdaLR(optimizer, Rate({}, total).linear)", "`self.warm` in it"),
        ("Warm(optimizer, {}, total)", "`100` in it"),
        ("Warm(optimizer, total=total, warmup_steps={})", "`100` in it"),
    ],
)
def test_the_functions_of_a_schedule_are_followed_by_their_step(made: str, numbers: str) -> None:
    """The first parameter of what makes a function was taken for the step, and `step` for a fixed number."""
    [message] = told(scheduled(made.format(100), RATES))
    assert f"counted for it: {numbers}" in message
    assert not told(scheduled(made.format("total // 10"), RATES))


def test_a_function_that_hands_its_step_to_itself_ends() -> None:
    above = "def down(step):\n    return 1 if step < 50 else down(step - 1)\n"
    [message] = told(scheduled("LambdaLR(optimizer, lambda step: down(step) / total)", above))
    assert "`50` in it" in message


def test_a_function_that_is_made_of_itself_ends() -> None:
    assert not told(scheduled("MultiplicativeLR(optimizer, partial(again, len(data)))", RATES))


@pytest.mark.parametrize(
    "given",
    ["warmup_ratio=0.1", "warmup=0.1", "warmup=args.warmup_ratio", "warmup_start_lr=1e-5", "warmup_epochs=5"],
)
def test_other_arguments_of_an_unknown_class_are_no_steps(given: str) -> None:
    assert not told(scheduled(f"Warm(optimizer, {given}, total=total)", "from warming import Warm\n"))


def test_a_schedule_that_is_not_prepared_takes_its_steps_as_before() -> None:
    outcome = scheduled("MultiStepLR(optimizer, [100, 200])")
    assert PREPARED not in outcome.text
    assert not told(outcome)


def test_nor_is_one_of_a_script_for_one_process() -> None:
    text = SCRIPT.format(made="MultiStepLR(optimizer, [100, total])", above="")
    alone = text.replace("sampler=sampler", "shuffle=True").replace("    sampler = DistributedSampler(data)\n", "")
    alone = alone.replace("        sampler.set_epoch(epoch)\n", "")
    alone = alone.replace("from torch.utils.data.distributed import DistributedSampler\n", "")
    assert not told(converted(alone, to_accelerate=True))
