"""--to-accelerate, RM856: a number of a process that is read as the text in its environment variable stays a text."""

import pytest

from tests.rules.scripts import converted

SCRIPT = """import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from job import data

dist.init_process_group("nccl")
model = DDP(nn.Linear(4, 2).cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
for x, y in loader:
    loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ('name = "log-" + os.environ["RANK"]\n', 'name = "log-" + str(accelerator.process_index)\n'),
        ('name = os.getenv("RANK", "0").zfill(3)\n', "name = str(accelerator.process_index).zfill(3)\n"),
        ('rank = os.environ["RANK"]\nname = "log-" + rank\n', 'name = "log-" + str(accelerator.process_index)\n'),
        ('alone = os.environ["WORLD_SIZE"] == "1"\n', 'alone = str(accelerator.num_processes) == "1"\n'),
        (
            'first = os.environ.get("LOCAL_RANK", "-1") in ("-1", "0")\n',
            'first = str(accelerator.local_process_index) in ("-1", "0")\n',
        ),
        ('first = os.environ["RANK"] == "0"\n', "first = accelerator.is_main_process\n"),
        ('other = "0" != os.environ["RANK"]\n', "other = not accelerator.is_main_process\n"),
    ],
)
def test_a_text_stays_one(end: str, expected: str) -> None:
    assert converted(SCRIPT + end, to_accelerate=True).text.endswith(expected)


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ('number = int(os.environ["RANK"]) + 1\n', "number = accelerator.process_index + 1\n"),
        ("name = f\"log-{os.environ['RANK']}\"\n", 'name = f"log-{accelerator.process_index}"\n'),
        ('number = os.environ.get("RANK", -1) == 3\n', "number = accelerator.process_index == 3\n"),
        ('rank = os.environ["RANK"]\nnumber = int(rank) + 1\n', "number = int(accelerator.process_index) + 1\n"),
    ],
)
def test_a_number_stays_one(end: str, expected: str) -> None:
    """As does what makes a number or a text of it."""
    assert converted(SCRIPT + end, to_accelerate=True).text.endswith(expected)


def test_what_the_main_process_alone_reads_back_waits_for_nobody() -> None:
    end = 'if os.environ["RANK"] == "0":\n    torch.save(model.state_dict(), "a.pt")\n    torch.load("a.pt")\n'
    outcome = converted(SCRIPT + end, to_accelerate=True)
    assert (
        'if accelerator.is_main_process:\n    torch.save(accelerator.unwrap_model(model).state_dict(), "a.pt")\n'
        in (outcome.text)
    )
    assert "RM857" not in str(outcome.findings)
