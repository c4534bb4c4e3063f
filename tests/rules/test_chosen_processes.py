"""RM857, --to-accelerate: what the script lets other processes than the main one do stays theirs."""

import pytest

from tests.rules.scripts import converted

SCRIPT = """
import os
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from job import data

dist.init_process_group("nccl")
local_rank = int(os.environ.get("LOCAL_RANK", -1))
rank, world_size = dist.get_rank(), dist.get_world_size()


def is_main():
    return dist.get_rank() == 0


model = DDP(nn.Linear(4, 2).to(local_rank), device_ids=[local_rank])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data))
for epoch in range(3):
    for x, y in loader:
        loss = F.cross_entropy(model(x.to(local_rank)), y.to(local_rank))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if CONDITION:
        print(epoch)
        torch.save(model.module.state_dict(), "m.pt")
dist.destroy_process_group()
"""


@pytest.mark.parametrize(
    "condition",
    [
        *("dist.get_rank() == dist.get_world_size() - 1", "dist.get_rank() != 0", "not is_main()", "dist.get_rank()"),
        *("0 < dist.get_rank()", "dist.get_rank() > 0 and epoch", "dist.get_rank() == 1", "dist.get_rank() == 0"),
    ],
)
def test_a_process_that_the_script_chooses_prints_and_saves(condition: str) -> None:
    text = converted(SCRIPT.replace("CONDITION", condition), to_accelerate=True).text
    assert "        print(epoch)\n        torch.save(accelerator.unwrap_model(model)" in text


@pytest.mark.parametrize("condition", ["epoch == 2", "dist.get_world_size() > 1", "dist.get_rank() < 2"])
def test_where_the_main_process_comes_with_others_it_alone_does(condition: str) -> None:
    text = converted(SCRIPT.replace("CONDITION", condition), to_accelerate=True).text
    assert "        accelerator.print(epoch)\n" in text
    assert "        accelerator.save(accelerator.unwrap_model(model)" in text


def test_the_other_branch_of_a_test_for_the_main_process_is_theirs() -> None:
    other = SCRIPT.replace("    if CONDITION:\n", "    if is_main():\n        pass\n    else:\n")
    assert "        print(epoch)\n" in converted(other, to_accelerate=True).text
