"""--to-accelerate: rows that a script shares out among the processes itself would be shared out twice."""

import pytest

from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated, refusal

GROUP = """import os
import torch.distributed as dist
from datasets.distributed import split_dataset_by_node
from torch.utils.data import DistributedSampler, IterableDataset, Subset
dist.init_process_group()
rank = dist.get_rank()
size = dist.get_world_size()
"""
TWICE = "would share these out once more"


def head(rows: str, made: str = "", start: str = GROUP) -> str:
    return HEAD.replace(
        "loader = DataLoader(data, batch_size=8, shuffle=True)", f"{made}loader = DataLoader({rows})"
    ).replace("import torch\n", f"import torch\n{start}", 1)


@pytest.mark.parametrize(
    ("rows", "made"),
    [
        ("Subset(data, range(rank, len(data), size))", ""),
        ("Subset(data, list(range(len(data)))[rank::size])", ""),
        ("rows, batch_size=8", "rows = data[rank::size]\n"),
        ("rows", "rows = [row for i, row in enumerate(data) if i % size == rank]\n"),
        ("rows", "rows = []\nfor i, row in enumerate(data):\n    if i % size == rank:\n        rows.append(row)\n"),
        ("data.shard(size, rank)", ""),
        ("dataset=data.shard(num_shards=size, index=dist.get_rank())", ""),
        ("rows", "rows = split_dataset_by_node(data, rank=rank, world_size=size)\n"),
        ("rows", "rows = split_dataset_by_node(data, int(os.environ['RANK']), size)\n"),
        ("share()", "def share():\n    start = rank * 8\n    return data[start:start + 8]\n\n\n"),
        ("share(rank)", "def share(number):\n    return data[number::2]\n\n\n"),
        ("data, sampler=range(rank, 8, size)", ""),
        ("data, batch_sampler=Batches(data, rank, size)", "from job import Batches\n"),
        (
            "Rows()",
            "class Rows(IterableDataset):\n    def __iter__(self):\n        return iter(data[dist.get_rank():])\n\n\n",
        ),
        ("Rows(f'part-{rank}.txt')", "from job import Rows\n"),
    ],
)
def test_rows_of_its_own_for_each_process_leave_the_loop_native(rows: str, made: str) -> None:
    assert TWICE in refusal(LOOP, head=head(rows, made))


@pytest.mark.parametrize(
    ("rows", "made"),
    [
        ("data, sampler=DistributedSampler(data, num_replicas=size, rank=rank)", ""),
        ("data, sampler=sampler", "sampler = DistributedSampler(data, rank=rank)\n"),
        ("rows(download=rank == 0)", "from job import rows\n"),
        ("rows(cache_dir=f'/tmp/{rank}')", "from job import rows\n"),
        ("rows(seed=42 + rank)", "from job import rows\n"),
        ("share(rank)", "def share(number):\n    print(number)\n    return data\n\n\n"),
        ("data, generator=torch.Generator().manual_seed(rank)", ""),
        ("data", "rows = data[rank::size]\n"),
        ("frame.rank()", "from job import frame\n"),
        ("rows", "rows = data[: len(data) // size * size]\n"),
    ],
)
def test_rows_that_all_processes_have_are_shared_out_by_the_accelerator(rows: str, made: str) -> None:
    assert "accelerator.prepare(" in accelerated(LOOP, head=head(rows, made)).text


@pytest.mark.parametrize(
    "numbers",
    [
        "rank, size = dist.get_rank(), dist.get_world_size()\n",
        "rank, size = int(os.environ['RANK']), int(os.environ['WORLD_SIZE'])\n",
        "from job import args\nrank, size = args.rank, args.world_size\n",
    ],
)
def test_so_do_ranks_in_other_spellings(numbers: str) -> None:
    start = GROUP.partition("rank = ")[0] + numbers
    assert TWICE in refusal(LOOP, head=head("data[rank::size]", start=start))
