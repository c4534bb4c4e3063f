"""--to-accelerate: scripts that train on the CPU stay there."""

from pathlib import Path

import pytest

from tests.rules.scripts import converted
from tests.rules.test_to_accelerate import HEAD, LOOP, STEP, accelerated
from tests.rules.test_to_accelerate_files import project

CHOICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
WITHOUT = HEAD.replace(CHOICE, "").replace(".to(device)", "")
BARE = f"for x, y in loader:\n{STEP}"
STAYS = "This script trains on the CPU"
MAY_GO = "Nothing here says on which device this trains"


@pytest.mark.parametrize(
    "head",
    [
        WITHOUT,
        HEAD.replace(CHOICE, 'device = "cpu"\n'),
        HEAD.replace(CHOICE, 'device = torch.device("cpu")\n'),
        HEAD.replace(CHOICE, "").replace("(device)", '("cpu")'),
        f'"""Trains without a GPU."""\n{WITHOUT}',
        WITHOUT.replace("nn.Linear(4, 2)", "torchvision.models.resnet18()").replace(
            "import torch\n", "import torch, torchvision\n", 1
        ),
        WITHOUT.replace("model = nn.Linear", "class Net(nn.Linear):\n    pass\n\n\nmodel = Net"),
    ],
)
def test_a_script_that_trains_on_the_cpu_stays_there(head: str) -> None:
    loop = LOOP if "(device)" in head else BARE
    outcome = accelerated(loop, "    print(model(x).detach().numpy())\n", head=head)
    assert "accelerator = Accelerator(cpu=True)\n" in outcome.text
    assert any(STAYS in message for message in outcome.messages)


@pytest.mark.parametrize(
    "head",
    [
        HEAD,
        HEAD.replace(CHOICE, "device = 0\n"),
        HEAD.replace(CHOICE, "import sys\ndevice = sys.argv[1]\n"),
        HEAD.replace(CHOICE, 'device = "cpu"\nif torch.cuda.is_available():\n    device = "cuda"\n'),
        HEAD.replace(CHOICE, "").replace(".to(device)", ".cuda()"),
        WITHOUT + "model = nn.DataParallel(model)\ngpus = 2\n",
        WITHOUT + 'torch.set_default_device("x")\n',
        WITHOUT + "data.prepare(model, use_gpu=True)\n",
    ],
)
def test_a_script_that_may_train_elsewhere_goes_where_the_accelerator_wants(head: str) -> None:
    outcome = accelerated(LOOP if "device = " in head else BARE, head=head)
    assert "Accelerator()" in outcome.text, outcome.messages
    assert not any(STAYS in message or MAY_GO in message for message in outcome.messages)


def test_a_model_that_is_not_seen_may_be_made_anywhere() -> None:
    head = WITHOUT.replace("nn.Linear(4, 2)", "build()").replace("import data", "import build, data")
    outcome = accelerated(BARE, head=head)
    assert "Accelerator()" in outcome.text
    assert any(MAY_GO in message for message in outcome.messages)


@pytest.mark.parametrize(("move", "stays"), [("", True), (".cuda()", False)])
def test_a_model_of_another_file_is_looked_at(tmp_path: Path, move: str, stays: bool) -> None:
    head = WITHOUT.replace("nn.Linear(4, 2)", "build()").replace(
        "import torch\n", "import torch\nfrom net import build\n", 1
    )
    net = f"import torch\n\n\ndef build():\n    return torch.nn.Linear(4, 2){move}\n"
    after, _ = project(tmp_path, main=head + BARE, net=net)
    assert ("Accelerator(cpu=True)" in after["main"]) is stays


def test_who_asks_for_gpus_gets_them() -> None:
    assert "cpu=True" not in converted(WITHOUT + BARE, to_accelerate=True, gpu=True).text


ON_CPU = HEAD.replace(CHOICE, 'device = torch.device("cpu")\n')


@pytest.mark.parametrize(
    "said",
    [
        'print("Using Device: cpu")',
        'print("Using device:", device)',
        'print(f"Device: {device}")',
        'print("Using {} device, no GPU".format(device))',
        'import logging\nlogging.info("training on device %s", device)',
        'import sys\nsys.stdout.write("device: %s, without cuda" % device)',
    ],
)
def test_what_it_says_to_a_reader_chooses_nothing(said: str) -> None:
    assert "accelerator = Accelerator(cpu=True)\n" in accelerated(LOOP, head=f"{ON_CPU}{said}\n").text


@pytest.mark.parametrize(
    "more",
    [
        'from job import run\nprint(run("cuda"))',
        'from job import run\nrun("gpu")',
        'print(model.to("cuda"))',
        "print(torch.cuda.is_available())",
        'where = "cuda:0"\nprint(where)',
    ],
)
def test_a_text_that_something_else_gets_may_choose(more: str) -> None:
    assert "Accelerator()" in accelerated(LOOP, head=f"{ON_CPU}{more}\n").text


SEEDS = "def seed(number):\n    torch.manual_seed(number)\n    {}torch.cuda.manual_seed_all(number)\n\n\nseed(1)\n"
ASKED = "if torch.cuda.is_available():\n        "


@pytest.mark.parametrize(
    ("more", "stays"),
    [
        (SEEDS.format(""), True),
        (SEEDS.format(ASKED), True),
        (f"from torch import cuda\n{SEEDS.format('').replace('torch.cuda.', 'cuda.')}", True),
        ("torch.cuda.empty_cache()\n", True),
        (f"{SEEDS.format(ASKED)}torch.cuda.set_device(0)\n", False),
        ("if torch.cuda.is_available():\n    torch.cuda.manual_seed(1)\n    data.move()\n", False),
        ("if torch.cuda.is_available():\n    torch.cuda.manual_seed(1)\nelse:\n    data.move()\n", False),
        ("print(torch.cuda.device_count())\n", False),
    ],
)
def test_a_seed_of_gpus_puts_nothing_on_one(more: str, *, stays: bool) -> None:
    assert ("Accelerator(cpu=True)" in accelerated(BARE, head=WITHOUT + more).text) is stays


@pytest.mark.parametrize(("backend", "stays"), [("gloo", True), ("nccl", False)])
def test_processes_of_gloo_stay_on_the_cpu_whatever_counts_them(backend: str, *, stays: bool) -> None:
    work = f"""import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, DistributedSampler

from job import data


def work(rank, size):
    dist.init_process_group("{backend}", rank=rank, world_size=size)
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    model = nn.parallel.DistributedDataParallel(nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    mean = torch.tensor([loss.item()])
    dist.all_reduce(mean)


if __name__ == "__main__":
    size = torch.cuda.device_count()
    mp.spawn(work, args=(size,), nprocs=size)
"""
    outcome = accelerated(head=work)
    assert "accelerator.reduce(mean" in outcome.text, outcome.messages
    assert ("Accelerator(cpu=True)" in outcome.text) is stays


@pytest.mark.parametrize("place", ["rank % count", "list(range(count))[rank]"])
def test_a_count_that_numbers_gpus_is_no_number_of_processes(place: str) -> None:
    group = "import torch.distributed as dist\n\ndist.init_process_group('gloo')\nrank = dist.get_rank()\n"
    counted = f"{group}count = torch.cuda.device_count()\n"
    assert "Accelerator(cpu=True)" in accelerated(BARE, head=WITHOUT + counted).text
    assert "Accelerator()" in accelerated(BARE, head=f"{WITHOUT}{counted}model.to({place})\n").text
