"""--to-accelerate: a number that is the rank of a process and its device as well."""

import pytest

from tests.rules.scripts import converted

IMPORTS = """import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from job import data


"""
TRAIN = """def train(model, rank, loader, optimizer):
    for x, y in loader:
        loss = F.cross_entropy(model(x.to(rank)), y.to(rank))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
WORKER = """

def worker(rank, world_size):
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    model = DDP(nn.Linear(4, 2).to(rank), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, rank, loader, optimizer)


"""
ASKS = WORKER.replace("worker(rank, world_size):", 'worker():\n    rank = int(os.environ["RANK"])')
ASKS = ASKS.replace(", rank=rank, world_size=world_size", "")
SPAWN = 'if __name__ == "__main__":\n    mp.spawn(worker, args=(2,), nprocs=2)\n'
SAVE = '        torch.save(model.module.state_dict(), "model.pt")\n'


def script(end: str, worker: str = WORKER, start: str = SPAWN) -> str:
    return converted(f"{IMPORTS}{TRAIN}{end}{worker}{start}", to_accelerate=True).text


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (f"    if rank == 0:\n{SAVE}", "    if accelerator.is_main_process:\n        torch.save("),
        (f"    if 0 == rank:\n{SAVE}", "    if accelerator.is_main_process:\n        torch.save("),
        (f"    if not rank:\n{SAVE}", "    if accelerator.is_main_process:\n        torch.save("),
        ("    if rank != 0:\n        return\n", "    if not accelerator.is_main_process:\n        return\n"),
        (f"    is_main = rank == 0\n    if is_main:\n{SAVE}", "    is_main = accelerator.is_main_process\n"),
        (f"    if rank in (-1, 0):\n{SAVE}", "    if accelerator.process_index in (-1, 0):\n"),
        ("    torch.manual_seed(42 + rank)\n", "torch.manual_seed(42 + accelerator.process_index)"),
        ('    path = f"rank{rank}.pt"\n', 'path = f"rank{accelerator.process_index}.pt"'),
        ("    total = torch.zeros(1, device=rank)\n", "total = torch.zeros(1, device=accelerator.device)"),
        ("    used = torch.cuda.memory_allocated(rank)\n", "torch.cuda.memory_allocated(accelerator.device)"),
    ],
)
@pytest.mark.parametrize("worker", [WORKER, ASKS])
def test_a_rank_that_a_function_moves_to_and_asks_for_is_both(end: str, expected: str, worker: str) -> None:
    text = script(end, worker, SPAWN if worker is WORKER else "worker()\n")
    assert expected in text
    assert "def train(model, accelerator, loader, optimizer):" in text
    assert "accelerator.device ==" not in text
    assert "(rank" not in text and " rank " not in text


def test_functions_that_are_given_it_further_down_get_what_they_use() -> None:
    helpers = (
        "\n\ndef zeros(place):\n    return torch.zeros(1, device=place)\n\n\n"
        "def say(rank, text):\n    if rank == 0:\n        os.write(1, text)\n\n\n"
        "def again(rank):\n    again(rank)\n"
    )
    text = script("    zeros(rank)\n    say(rank, b'done')\n    again(rank)\n", helpers + WORKER)
    assert "    zeros(accelerator.device)\n    say(accelerator.process_index, b'done')\n" in text
    assert "    again(accelerator.process_index)\n" in text
    assert "def say(rank, text):\n    if rank == 0:\n" in text


@pytest.mark.parametrize(
    ("given", "save"),
    [("args.gpu", "accelerator.save("), ("args.local_rank", "torch.save("), ("gpu", "accelerator.save(")],
)
def test_the_number_of_a_gpu_is_that_of_the_process_on_its_machine(given: str, save: str) -> None:
    worker = WORKER.replace("worker(rank, world_size)", "worker(args)" if "." in given else "worker(gpu)")
    worker = worker.replace(", rank=rank, world_size=world_size", "").replace("rank", given)
    text = script(f"    if rank == 0:\n{SAVE}", worker, "" if given == "gpu" else "from job import args\n")
    assert f"if accelerator.is_local_main_process:\n        {save}" in text


def test_a_script_that_names_its_gpu_by_a_number_may_ask_for_that() -> None:
    head = IMPORTS + "gpu = 0\nmodel = nn.Linear(4, 2).cuda(gpu)\nloader = DataLoader(data, batch_size=8)\n"
    loop = TRAIN.partition("\n")[2].replace("\n    ", "\n").replace("    for", "for").replace("rank", "gpu")
    made = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
    outcome = converted(f"{head}{made}{loop}if gpu == 0:\n    print(loss, gpu)\n", to_accelerate=True)
    assert "if accelerator.is_local_main_process:\n" in outcome.text


def test_a_device_and_a_rank_of_something_else_stay_what_they_are() -> None:
    text = script(
        "    print(loss.device == rank, loss.device)\n", WORKER.replace("train(model, rank", "train(model, device")
    )
    assert "train(model, accelerator" not in text  # `device` is not known there: nothing is converted
    lora = "\n\ndef lora(rank):\n    if rank == 0:\n        return None\n    return torch.zeros(rank)\n"
    assert "def lora(rank):\n    if rank == 0:\n" in script("    lora(8)\n", lora + WORKER)


EVALUATION = """

def test(model, loader, device):
    total = 0
    with torch.no_grad():
        for x, y in loader:
            total += F.cross_entropy(model(x.to(device)), y.to(device), reduction="sum").item()
    print(total / len(loader.dataset))


"""
SET_UP = 'def setup(rank, size):\n    dist.init_process_group("nccl", rank=rank, world_size=size)\n\n\n'
OF_LAUNCHER = """def main():
    rank = int(os.environ["{rank}"])
    size = int(os.environ["{size}"])
    {start}
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data, num_replicas=size, rank=rank))
    held_out = DataLoader(rest, batch_size=8)
    model = DDP(nn.Linear(4, 2).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, device, loader, optimizer)
    if {test}:
        test(model, held_out, device)


main()
"""


@pytest.mark.parametrize(
    ("start", "test", "rank", "size"),
    [
        ("setup(rank, size)", "rank == 0", "SLURM_PROCID", "SLURM_NTASKS"),
        ("setup(size=size, rank=rank)", "not rank", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        ('dist.init_process_group("nccl", rank=rank, world_size=size)', "rank == 0", "PMI_RANK", "PMI_SIZE"),
        ('dist.init_process_group("nccl")', "rank == 0", "SLURM_PROCID", "SLURM_NTASKS"),
        (
            'dist.init_process_group("nccl", rank=int(os.environ["MY_RANK"]), world_size=int(os.environ["SIZE"]))',
            'int(os.environ["MY_RANK"]) == 0',
            "MY_RANK",
            "SIZE",
        ),
    ],
)
def test_rank_of_any_launcher_that_makes_the_group(start: str, test: str, rank: str, size: str) -> None:
    code = OF_LAUNCHER.format(start=start, test=test, rank=rank, size=size)
    text = converted(f"{IMPORTS}{TRAIN}{EVALUATION}{SET_UP}{code}", to_accelerate=True).text
    assert "    if accelerator.is_main_process:\n        test(model, held_out, device" in text
    assert "gather" not in text  # which waits for processes that never come
    assert rank not in text
    assert size not in text


def test_number_that_makes_no_group_stays_its_own() -> None:
    code = OF_LAUNCHER.format(start='setup(int(os.environ["RANK"]), size)', test="rank == 0", rank="NODE", size="SIZE")
    code = code.replace(", rank=rank)", ")")
    text = converted(f"{IMPORTS}{TRAIN}{EVALUATION}{SET_UP}{code}", to_accelerate=True).text
    assert 'rank = int(os.environ["NODE"])\n' in text
    assert "    if rank == 0:\n" in text


LEAVE = "    if rank != 0:\n        return\n"


@pytest.mark.parametrize(
    "leave",
    [
        LEAVE,
        LEAVE.replace("rank != 0", "rank > 0"),
        LEAVE.replace("rank != 0", "rank"),
        LEAVE.replace("rank != 0", "not rank == 0"),
        LEAVE.replace("rank != 0", "rank != 0 or len(loader) < 2"),
        LEAVE.replace("if rank != 0", "is_main = rank == 0\n    if not is_main"),
        "    if rank == 0:\n        print('saves')\n    else:\n        return\n",
    ],
)
def test_the_main_process_waits_for_none_of_those_that_have_left(leave: str) -> None:
    text = script(f"{leave}{SAVE.removeprefix('    ')}")
    assert "    torch.save(accelerator.unwrap_model(model).state_dict()" in text
    assert "wait_for_everyone" not in text


def test_processes_wait_where_others_than_the_main_one_do_not_leave() -> None:
    text = script(f"    if rank == 7:\n        print('seventh')\n{SAVE.removeprefix('    ')}")
    assert "    accelerator.wait_for_everyone()\n    accelerator.save(" in text
    text = script(f"    if rank == 0:\n        return\n{SAVE.removeprefix('    ')}")
    assert "wait_for_everyone" not in text  # the main one is not there


def test_the_rows_of_an_evaluation_are_not_gathered_where_the_others_have_left() -> None:
    code = OF_LAUNCHER.format(start="setup(rank, size)", test="True", rank="RANK", size="WORLD_SIZE")
    code = code.replace("    if True:", "    if rank != 0:\n        return\n    if True:")
    text = converted(f"{IMPORTS}{TRAIN}{EVALUATION}{SET_UP}{code}", to_accelerate=True).text
    assert "    if not accelerator.is_main_process:\n        return\n" in text
    assert "gather" not in text


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('print(f"rank {rank} starts")', 'print(f"rank {accelerator.process_index} starts")'),
        ('print("started", rank)', 'print("started", accelerator.process_index)'),
        ('print("first" if rank == 0 else "another")', 'print("first" if accelerator.is_main_process else "another")'),
        ('print("rank", dist.get_rank())', 'print("rank", accelerator.process_index)'),
        (
            'where = f"[{rank}]"\n    print(where + " starts")',
            'where = f"[{accelerator.process_index}]"\n    print(where + " starts")',
        ),
        (
            'where = "of %d" % dist.get_world_size()\n    print(where)',
            'where = "of %d" % accelerator.num_processes\n    accelerator.print(where)',
        ),
        ('print("of", dist.get_world_size())', 'accelerator.print("of", accelerator.num_processes)'),
        ('print("starts")', 'accelerator.print("starts")'),
    ],
)
def test_a_line_that_says_which_process_prints_it_comes_from_each(line: str, expected: str) -> None:
    assert f"    {expected}\n" in script(f"    {line}\n    used = torch.cuda.memory_allocated(rank)\n")


@pytest.mark.parametrize(
    ("between", "count"),
    [("    dist.barrier()\n", 1), ("", 1), ("    dist.barrier()\n    print('saved')\n", 2)],
)
def test_processes_that_wait_already_do_not_wait_twice(between: str, count: int) -> None:
    load = '    model.load_state_dict(torch.load("model.pt"))\n'
    text = script(f"    if rank == 0:\n{SAVE}{between}{load}")
    assert text.count("accelerator.wait_for_everyone()") == count


@pytest.mark.parametrize(("between", "is_told"), [("dist.barrier()", False), ("print('saved')", True)])
def test_a_script_that_waits_in_a_block_of_its_own_is_not_told_to_wait(between: str, is_told: bool) -> None:
    load = f"""\
    try:
        {between}
        model.load_state_dict(torch.load("model.pt"))
    except OSError:
        raise
"""
    found = converted(f"{IMPORTS}{TRAIN}    if rank == 0:\n{SAVE}{load}{WORKER}{SPAWN}", to_accelerate=True)
    assert "accelerator" in found.text
    assert any("reads a file that the main one has not written yet" in one for one in found.messages) is is_told
