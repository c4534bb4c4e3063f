"""RM856, --to-accelerate: the length of a DistributedSampler that goes, where it is shown."""

import pytest

from tests.rules.scripts import Outcome, converted

SCRIPT = """
import os
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
import torch.utils.data.distributed
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from job import data, logger


def main():
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank)
    {before}
    sampler = torch.utils.data.distributed.DistributedSampler({made})
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    model = DDP(nn.Linear(4, 2).to(device), device_ids=[local_rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step, (x, y) in enumerate(loader):
        x, y = x.to(device), y.to(device)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {use}
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
"""
EACH = "math.ceil(len(data) / accelerator.num_processes)"


def using(use: str, made: str = "data", before: str = "pass") -> Outcome:
    return converted(SCRIPT.format(use=use, made=made, before=before), to_accelerate=True)


@pytest.mark.parametrize(
    ("use", "now"),
    [
        ('print("[{}/{}]".format(step * 8, len(sampler)))', f'"[{{}}/{{}}]".format(step * 8, {EACH})'),
        ('print("%d of %d" % (step, len(sampler)))', f'"%d of %d" % (step, {EACH})'),
        ("text = '%d'; print(text % len(sampler))", f"text % {EACH}"),
        ("logger.info('%d', len(sampler))", f"logger.info('%d', {EACH})"),
    ],
)
def test_a_length_that_is_shown_is_that_of_one_process(use: str, now: str) -> None:
    outcome = using(use)
    assert now in outcome.text and outcome.text.startswith("import math\n")
    assert any("its length becomes that of what it shared out" in message for message in outcome.messages)


def test_one_that_is_told_the_number_of_processes_has_as_many_rows() -> None:
    assert f"print({EACH})" in using("print(len(sampler))", "data, num_replicas=dist.get_world_size()").text


@pytest.mark.parametrize("made", ["data, drop_last=False", "data, None, None, True, 0, False"])
def test_one_that_says_that_it_drops_none_is_as_long(made: str) -> None:
    assert f"print({EACH})" in using("print(len(sampler))", made).text


def test_one_that_drops_the_last_rows_has_fewer() -> None:
    text = using("print(len(sampler))", "data, drop_last=True").text
    assert "print(len(data) // accelerator.num_processes)" in text


@pytest.mark.parametrize(
    ("use", "made", "before"),
    [
        ("mean = loss.item() / len(sampler)", "data", "pass"),
        ("print(loss.item() / len(sampler))", "data", "pass"),
        ("print(sampler.num_samples)", "data", "pass"),
        ("print(step % len(sampler))", "data", "pass"),
        ("mean = math.log(len(sampler))", "data", "import math"),
        ("mean = torch.log(len(sampler))", "data", "pass"),
        ("log(len(sampler))", "data", "from job import log"),
        ("print(len(sampler))", "data, num_replicas=2, rank=local_rank % 2", "pass"),
        ("print(len(sampler))", "load()", "from job import load"),
        ("print(len(sampler))", "rows", "rows = data\n    rows = rows[:100]"),
        ("print(len(sampler))", "data, drop_last=logger.drops", "pass"),
    ],
)
def test_other_uses_keep_the_loop(use: str, made: str, before: str) -> None:
    outcome = using(use, made, before)
    assert "Accelerator" not in outcome.text
    assert any("a DistributedSampler, is used outside of its DataLoader" in message for message in outcome.messages)
