"""--to-accelerate, RM856 and RM857: "is this the main process?" and "are there several?", as scripts ask it."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from job import data

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=-1)
parser.add_argument("--distributed", action="store_true")
args = parser.parse_args()
dist.init_process_group("nccl")
rank = int(os.environ.get("RANK", -1))
text = os.environ.get("LOCAL_RANK")
model = DDP(nn.Linear(4, 2).cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
for x, y in loader:
    loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
SAVE = "    print(1)\n    torch.save(model.module.state_dict(), 'model.pt')\n"


@pytest.mark.parametrize(
    "test",
    [
        "rank in (-1, 0)",
        "args.local_rank in [-1, 0]",
        "rank in {0}",
        "rank <= 0",
        "args.local_rank < 1",
        "0 >= rank",
        "1 > dist.get_rank()",
        "not rank > 0",
        "not rank",
        "rank == 0",
        "args.local_rank == -1 or dist.get_rank() == 0",
        "not args.distributed or rank == 0",
        "not dist.is_initialized() or rank <= 0",
        "dist.get_world_size() == 1 or rank == 0",
        "dist.get_world_size() < 2 or rank == 0",
        "rank in (-1, 0) and args.distributed",
    ],
)
def test_the_main_process_alone_does_what_is_below_its_question(test: str) -> None:
    """So that it stays as it is: nothing else has to keep the others away."""
    outcome = converted(f"{SCRIPT}if {test}:\n{SAVE}", to_accelerate=True)
    assert outcome.text.endswith(
        "    print(1)\n    torch.save(accelerator.unwrap_model(model).state_dict(), 'model.pt')\n"
    )
    assert not outcome.lines("RM857", Kind.MANUAL) and not outcome.lines("RM857", Kind.CONVERTED)


@pytest.mark.parametrize("test", ["rank > 0", "rank != 0", "rank not in (-1, 0)", "0 < rank", "rank >= 1", "rank"])
def test_so_is_what_the_others_do_not_come_to(test: str) -> None:
    asked = converted(f"{SCRIPT}if {test}:\n    raise SystemExit\n{SAVE.replace('    ', '')}", to_accelerate=True)
    assert "\ntorch.save(" in asked.text
    either = converted(f"{SCRIPT}if {test}:\n    pass\nelse:\n{SAVE}", to_accelerate=True)
    assert "\n    torch.save(" in either.text


@pytest.mark.parametrize(
    "test",
    [
        "rank in (0, 1)",
        "rank < 2",
        "rank >= 0",
        "rank not in (1, 2)",
        "rank != 1",
        "rank % 8 == 0",
        "args.distributed or rank == 0",
        "dist.get_world_size() > 1 or rank == 0",
        "args.verbose or rank == 0",
    ],
)
def test_others_do_as_well_what_is_below_another_question(test: str) -> None:
    outcome = converted(f"{SCRIPT}if {test}:\n{SAVE}", to_accelerate=True)
    assert "    accelerator.print(1)\n    accelerator.save(" in outcome.text


@pytest.mark.parametrize(
    "test",
    [
        'not os.environ.get("RANK")',
        'os.environ.get("LOCAL_RANK") is None',
        'os.environ.get("LOCAL_RANK") is not None',
        'os.environ.get("RANK", "")',
        'bool(os.environ.get("RANK"))',
        'int(os.environ.get("RANK", -1)) != -1',
        'int(os.getenv("RANK", "-1")) >= 0',
        'os.environ.get("RANK", "-1") == "-1"',
        "rank == -1",
        "rank > -1",
        "text is None",
        "not text",
        "text and args.distributed",
    ],
)
def test_whether_a_launcher_started_the_script_is_asked_as_before(test: str) -> None:
    """Of the environment, since launchers set for accelerate the variables that they set for torch."""
    outcome = converted(f"{SCRIPT}if {test}:\n    name = 1\n", to_accelerate=True)
    assert outcome.text.endswith(f"if {test}:\n    name = 1\n")
    assert 'text = os.environ.get("LOCAL_RANK")\n' in outcome.text or "text" not in test


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("args.local_rank == -1", "not accelerator.use_distributed"),
        ("args.local_rank != -1", "accelerator.use_distributed"),
        ("-1 == args.local_rank", "not accelerator.use_distributed"),
        ("args.local_rank >= 0", "accelerator.use_distributed"),
        ("args.local_rank is None", "not accelerator.use_distributed"),
    ],
)
def test_an_option_that_goes_is_asked_no_more(test: str, expected: str) -> None:
    outcome = converted(f"{SCRIPT}if {test}:\n    name = 1\n", to_accelerate=True)
    assert outcome.text.endswith(f"if {expected}:\n    name = 1\n")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('name = int(os.environ.get("RANK") or 0)', "name = int(str(accelerator.process_index) or 0)"),
        ('name = int(os.environ.get("RANK", 0)) == -1', "name = accelerator.process_index == -1"),
        ("name = dist.get_rank() == 3", "name = accelerator.process_index == 3"),
    ],
)
def test_a_number_that_is_used_is_the_accelerators(code: str, expected: str) -> None:
    assert converted(f"{SCRIPT}{code}\n", to_accelerate=True).text.endswith(f"{expected}\n")


def test_accelerate_does_not_take_over_what_the_main_process_never_does() -> None:
    outcome = converted(f"{SCRIPT}if rank > 0:\n{SAVE}", to_accelerate=True)
    assert "    print(1)\n    torch.save(" in outcome.text
