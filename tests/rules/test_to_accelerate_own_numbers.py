"""--to-accelerate (RM856): what a script says of its processes itself, and code that is for others to call."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome, converted

SCRIPT = """\
import os
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader
from job import args, rows, start

{before}

def average(model):
    for parameter in model.parameters():
        {reduce}

def train():
    device = torch.device("cuda")
    {group}
    model = torch.nn.Linear(3, 3).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(rows, batch_size=4)
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        loss = (model(x) - y).pow(2).mean()
        loss.backward()
        average(model)
        optimizer.step()
        optimizer.zero_grad()

{after}

train()
"""
OWN = "is given its number here"
PLAIN = 'dist.init_process_group("nccl")'
GROUP = 'dist.init_process_group("nccl", rank=rank, world_size=2)'


def accelerated(before: str = "", reduce: str = "pass", group: str = "pass", after: str = "") -> Outcome:
    return converted(SCRIPT.format(before=before, reduce=reduce, group=group, after=after), to_accelerate=True)


@pytest.mark.parametrize(
    "rank",
    ['int(os.environ["SLURM_PROCID"])', "args.hosts.index(args.host)", "args.rank", "start()"],
)
def test_a_rank_that_no_launcher_sets_is_told(rank: str) -> None:
    outcome = accelerated(group=f'dist.init_process_group("nccl", rank={rank}, world_size=args.size)')
    told = [message for message in outcome.messages if OWN in message]
    assert len(told) == 1 and f"`{rank}`" in told[0]
    assert len(outcome.lines("RM856", Kind.MANUAL)) == 1
    assert "init_process_group" not in outcome.text


def test_a_local_rank_that_no_option_of_the_file_gives_is_told() -> None:
    outcome = accelerated(group='dist.init_process_group("nccl", rank=args.local_rank, world_size=args.size)')
    assert [message for message in outcome.messages if OWN in message]


@pytest.mark.parametrize(
    ("group", "rank"),
    [
        # The rank counts as one of the process group, and is one that accelerate does not find.
        (f'rank = int(os.environ["SLURM_PROCID"])\n    {GROUP}', "rank"),
        ('dist.init_process_group("nccl", "env://", args.wait, 2, int(os.getenv("PMI")))', 'int(os.getenv("PMI"))'),
        (f'os.environ["RANK"] = os.environ["SLURM_PROCID"]\n    {PLAIN}', 'os.environ["SLURM_PROCID"]'),
        (f'os.environ["LOCAL_RANK"] = str(args.gpu)\n    {PLAIN}', "str(args.gpu)"),
        (f"os.environ.update(RANK=str(args.rank))\n    {PLAIN}", "str(args.rank)"),
        # torchrun or srun starts it, and srun is not seen any more.
        (
            f'rank = int(os.environ["RANK"]) if "RANK" in os.environ else int(os.environ["SLURM_PROCID"])\n    {GROUP}',
            "rank",
        ),
        (f'rank = int(os.environ.get("RANK", os.environ.get("SLURM_PROCID", 0)))\n    {GROUP}', "rank"),
    ],
)
def test_a_rank_of_another_launcher_is_told_where_it_has_a_name_or_goes_to_the_environment(
    group: str, rank: str
) -> None:
    outcome = accelerated(group=group)
    told = [message for message in outcome.messages if OWN in message]
    assert len(told) == 1 and f"`{rank}`" in told[0]
    assert "init_process_group" not in outcome.text


def test_variables_whose_names_are_not_seen_are_no_ranks() -> None:
    before = "def number(name):\n    return int(os.environ[name])\n"
    group = 'dist.init_process_group("nccl", rank=number("SLURM_PROCID"), world_size=number("SLURM_NTASKS"))'
    text = accelerated(before, group=f'print(number("JOB"))\n    {group}').text
    assert "init_process_group" not in text
    assert "    return int(os.environ[name])\n" in text


@pytest.mark.parametrize(
    ("before", "group"),
    [
        ("", 'dist.init_process_group("nccl")'),
        ("", 'dist.init_process_group("nccl", rank=int(os.environ["RANK"]), world_size=args.size)'),
        ('rank = int(os.environ["RANK"])', 'dist.init_process_group("nccl", rank=rank, world_size=args.size)'),
        ("", 'args.rank = int(os.environ["RANK"])\n    dist.init_process_group("nccl", rank=args.rank, world_size=2)'),
        ("", 'dist.init_process_group("nccl", rank=-1)'),
        ("", 'dist.init_process_group("nccl", rank=args.node * 8 + int(os.environ["LOCAL_RANK"]), world_size=16)'),
        ("", 'os.environ["RANK"] = "0"\n    dist.init_process_group("nccl")'),
        ("", 'dist.init_process_group("nccl")\n    os.environ["LOCAL_RANK"] = str(dist.get_rank())'),
        ('os.environ.update(RANK=os.environ["SLURM_PROCID"])', PLAIN),  # before an Accelerator is made, which reads it
        ('os.environ["RANK"] = os.environ["RANK"].strip()', 'dist.init_process_group("nccl")'),
        ("", 'dist.init_process_group("nccl", rank=0, world_size=1)'),
    ],
)
def test_a_rank_of_the_launcher_is_not_told(before: str, group: str) -> None:
    outcome = accelerated(before=before, group=group)
    assert "accelerator.prepare" in outcome.text
    assert not any(OWN in message for message in outcome.messages)


def test_the_old_name_of_reduce_op_is_known() -> None:
    outcome = accelerated(reduce="dist.all_reduce(parameter.grad, op=dist.reduce_op.SUM)")
    assert 'parameter.grad = accelerator.reduce(parameter.grad, reduction="sum")' in outcome.text


@pytest.mark.parametrize("backend", ["dist.Backend.GLOO", "[dist.Backend.GLOO, dist.Backend.NCCL]"])
def test_the_name_of_a_backend_stays(backend: str) -> None:
    outcome = accelerated(before=f"CHOICE = {backend}\nassert dist.is_nccl_available()")
    assert f"CHOICE = {backend}\nassert dist.is_nccl_available()\n" in outcome.text
    assert "accelerator.backward(loss)" in outcome.text


def test_a_backend_of_another_kind_is_in_the_way() -> None:
    outcome = accelerated(before='dist.Backend.register_backend("own", start)')
    assert "register_backend` has no equal" in outcome.messages[0]


LOADS = """\
def model_fn(folder):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = torch.nn.Linear(3, 3)
    model.load_state_dict(torch.load(folder, map_location=device))
    return model.to(device)
"""


def test_a_function_that_others_call_keeps_its_device() -> None:
    outcome = accelerated(after=LOADS)
    assert LOADS in outcome.text
    assert "accelerator.prepare(model, optimizer, loader)" in outcome.text


def test_a_function_that_is_called_here_is_none_for_others() -> None:
    outcome = accelerated(after=f"{LOADS}\nmodel_fn('model.pt')")
    assert any("made in several functions" in message for message in outcome.messages)
