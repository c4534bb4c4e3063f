"""--to-accelerate: what is told of code that reads prepared loaders in other ways than the loops that train."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted
from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated

MODEL = "model = nn.Linear"
DATA = "from job import data, test_data\n"


def told(text: str, *, head: str = HEAD) -> list[str]:
    return accelerated(text, head=head).messages


@pytest.mark.parametrize(
    "made",
    [
        'from datasets import load_dataset\ndata = load_dataset("c4", streaming=True)["train"].map(len)\n',
        'import datasets\nstream = True\ndata = datasets.load_dataset("c4", split="train", streaming=stream)\n',
        "from job import rows\ndata = rows.to_iterable_dataset(num_shards=4).shuffle()\n",
        "from torch.utils.data import IterableDataset\nclass Rows(IterableDataset):\n    pass\ndata = Rows()\n",
        "class Base(torch.utils.data.IterableDataset):\n    pass\nclass Rows(Base):\n    pass\ndata = Rows()\n",
        'import webdataset\ndata = webdataset.WebDataset("{0..9}.tar").shuffle(10)\n',
    ],
)
def test_rows_that_come_one_after_the_other_are_told(made: str) -> None:
    head = HEAD.replace(DATA, f"from job import test_data\n{made}").replace(", shuffle=True", "")
    [message] = [m for m in told(LOOP, head=head) if "one after the other" in m]
    assert "dispatch_batches=False" in message


@pytest.mark.parametrize(
    "made",
    [
        'from datasets import load_dataset\ndata = load_dataset("c4", split="train")\n',
        'from datasets import load_dataset\ndata = load_dataset("c4", split="train", streaming=False)\n',
        "class Rows(torch.utils.data.Dataset):\n    pass\ndata = Rows()\n",
    ],
)
def test_rows_with_an_index_are_not(made: str) -> None:
    head = HEAD.replace(DATA, f"from job import test_data\n{made}")
    assert not [m for m in told(LOOP, head=head) if "one after the other" in m]


@pytest.mark.parametrize("read", ["x, y = next(iter(loader))\n", "rows = list(loader)\n", "it = iter(loader)\n"])
def test_a_batch_that_is_taken_from_a_prepared_loader_is_told(read: str) -> None:
    assert [m for m in told(LOOP + read) if "`loader` is prepared" in m]
    assert not [m for m in told(LOOP, head=HEAD.replace(MODEL, read + MODEL)) if "`loader` is prepared" in m]


def test_a_loop_over_a_prepared_loader_that_is_no_evaluation_is_told() -> None:
    statistics = "total = 0\nfor x, y in loader:\n    total += x.mean()\nprint(total / len(loader))\n"
    outcome = accelerated(LOOP, statistics)
    [message] = [m for m in outcome.messages if "its own share of the rows here" in m]
    assert "gather_for_metrics" in message
    assert ("RM858", Kind.MANUAL) in [(code, kind) for code, kind, _ in outcome.findings]
    early = HEAD.replace(MODEL, statistics + MODEL)
    assert not [m for m in told(LOOP, head=early) if "its own share of the rows here" in m]


@pytest.mark.parametrize(
    ("bar", "is_told"),
    [
        ("from tqdm.auto import tqdm\n", True),
        ("from tqdm.asyncio import tqdm\n", True),
        ("from tqdm import tqdm\n", False),
        ("from tqdm.notebook import tqdm\n", False),
    ],
)
def test_a_bar_that_draws_a_random_number_is_told(bar: str, is_told: bool) -> None:
    messages = told(LOOP.replace("in loader", "in tqdm(loader)"), head=bar + HEAD)
    assert bool([m for m in messages if "draws a random number" in m]) is is_told


def test_a_loop_that_generates_over_all_rows_is_told() -> None:
    loop = "for x, y in test_loader:\n    print(model.generate(x.to(device)))\n"
    assert any("The rows of this loop are not split" in message for message in told(LOOP + loop))
    other = "for x, y in test_loader:\n    print(x)\n"
    assert not any("The rows of this loop are not split" in message for message in told(LOOP + other))


@pytest.mark.parametrize("variable", ["CUDA_VISIBLE_DEVICES", "TOKENIZERS_PARALLELISM"])
def test_gpus_that_are_hidden_from_all_processes_are_told(variable: str) -> None:
    head = f'import os\nos.environ["{variable}"] = "0"\n{HEAD}'
    assert any("hides the other GPUs" in m for m in told(LOOP, head=head)) is (variable == "CUDA_VISIBLE_DEVICES")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('os.environ.setdefault("CUDA_VISIBLE_DEVICES", "1")', "several of them cannot train on one GPU"),
        ('os.environ.update({"CUDA_VISIBLE_DEVICES": "1"})', "several of them cannot train on one GPU"),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"', "more processes than these cannot train"),
        ('os.environ.setdefault("OMP_NUM_THREADS", "1")', ""),
        ('settings.setdefault("CUDA_VISIBLE_DEVICES", "1")', ""),
    ],
)
def test_they_are_however_they_are_hidden(line: str, what: str) -> None:
    found = [m for m in told(LOOP, head=f"import os\n{line}\n{HEAD}") if "hides the other GPUs" in m]
    assert len(found) == bool(what) and all(what in message for message in found)


@pytest.mark.parametrize(
    ("sums", "target"),
    [
        ("running += loss.item()", "running"),
        ("running += loss", "running"),
        ("running += loss.detach().float()", "running"),
        ("seen += len(batch[0])", "seen"),
        ("self.total += loss.item() * x.size(0)", "self.total"),
        ("losses.append(loss.item())", "losses"),
        ("history['loss'].append(loss.item())", "history['loss']"),
        ("meter.update(loss.item(), len(x))", "meter"),
        ("bar.update(x.size(0))", ""),
        ("parts = []\n        parts.append(loss)", ""),
        ("steps += 1", ""),
        ("steps += accumulation", ""),
        ("parts = 0.0\n        parts += loss", ""),
        ("running = running + loss.item()", "running"),
        ("running = 0.9 * running + 0.1 * loss.item()", "running"),
        ("running = (running * seen + loss.item()) / (seen + 1)", "running"),
        ("losses = losses + [loss.item()]", "losses"),
        ("metric.add_batch(predictions=model(x), references=y)", "metric"),
        ("metric.add_batch(x)", "metric"),
        ("steps = steps + 1", ""),
        ("x = x * 2 + loss", ""),
        ("loss = loss + y.mean()", ""),
        ("running = max(running, 3)", ""),
        ("running += loss.item()\n        if seen % 5 == 0:\n            running = 0.0", "running"),
        ("losses.append(loss.item())\n        if seen % 5 == 0:\n            losses = []", "losses"),
        ("if seen:\n            running = y.mean()\n        running += loss", ""),
    ],
)
def test_sums_over_the_batches_of_one_process_are_told(sums: str, target: str) -> None:
    script = f"""\
import torch
from torch.utils.data import DataLoader
from tqdm import tqdm

model = torch.nn.Linear(3, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(rows(), batch_size=4)
bar = tqdm(total=3)
for epoch in range(3):
    running, seen, steps, losses = 0.0, 0, 0, []
    for batch in loader:
        x, y = batch
        loss = (model(x) - y).pow(2).mean()
        loss.backward()
        optimizer.step()
        {sums}
"""
    outcome = converted(script, to_accelerate=True)
    assert "accelerator.backward" in outcome.text
    told = [message for message in outcome.messages if "counts the batches of one of them" in message]
    assert [message.split("`")[1] for message in told] == ([target] if target else [])


SEVERAL = """\
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from job import rows

def mean_of_all(value):
    value = value.clone()
    dist.all_reduce(value)
    return value / dist.get_world_size()

def half(value):
    return value / 2

dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
model = DistributedDataParallel(torch.nn.Linear(3, 3).cuda(rank), device_ids=[rank])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(rows, batch_size=4, sampler=DistributedSampler(rows))
total, losses = 0.0, []
for x, y in loader:
    x, y = x.cuda(rank), y.cuda(rank)
    loss = (model(x) - y).pow(2).mean()
    loss.backward()
    optimizer.step()
    {sums}
"""


@pytest.mark.parametrize(
    ("sums", "target"),
    [
        ("mean = mean_of_all(loss.detach())\n    losses.append(mean.item())", ""),
        ("mean = mean_of_all(loss.detach())\n    total += mean.item() * x.size(0)", ""),
        ("value = loss.detach().clone()\n    dist.all_reduce(value)\n    total += value.item()", ""),
        ("value = loss.detach().clone()\n    dist.all_reduce(value)\n    total = total + value.item()", ""),
        ("total += loss.item()", "total"),
        ("total += loss.item()\nprint(mean_of_all(torch.tensor(total / len(loader))))", ""),
        ("total += loss.item()\nprint(half(torch.tensor(total)))", "total"),
        ("total += mean_of_all(loss.detach()).item()", ""),
        ("losses.append(mean_of_all(loss.detach()).item() * len(x))", ""),
        ("total += half(loss).item()", "total"),
        ("value = half(loss)\n    losses.append(value.item())", "losses"),
        ("mean = mean_of_all(loss.detach())\n    losses.append(loss.item())", "losses"),
    ],
)
def test_what_the_script_adds_up_over_all_processes_is_not(sums: str, target: str) -> None:
    outcome = converted(SEVERAL.format(sums=sums), to_accelerate=True)
    assert "accelerator.backward" in outcome.text
    told = [message for message in outcome.messages if "counts the batches of one of them" in message]
    assert [message.split("`")[1] for message in told] == ([target] if target else [])


OTHER = "other_loader = DataLoader(test_data, batch_size=8, shuffle=True)\n"
ENDLESS = "def endless(loader):\n    while True:\n        for batch in loader:\n            yield batch\n\n\n"
NEXT = "    z, _ = next(batches)\n"
TAKEN = "def taken():\n    return next(batches)\n\n\n"
AGAIN = (
    "    try:\n        z, _ = next(batches)\n    except StopIteration:\n"
    "        batches = iter(other_loader)\n        z, _ = next(batches)\n"
)


@pytest.mark.parametrize(
    ("before", "in_loop"),
    [
        (f"{OTHER}batches = iter(other_loader)\n", NEXT),
        (f"{OTHER}batches = iter(other_loader)\n", AGAIN),
        (f"{OTHER}{ENDLESS}batches = endless(other_loader)\n", NEXT),
        (f"{OTHER}import itertools\nbatches = iter(itertools.cycle(other_loader))\n", NEXT),
        (f"{OTHER}", "    z, _ = next(iter(other_loader))\n"),
        (f"{OTHER}batches = iter(other_loader)\n{TAKEN}", "    z, _ = taken()\n"),
    ],
)
def test_a_second_loader_that_a_training_loop_asks_is_told(before: str, in_loop: str) -> None:
    [message] = [m for m in told(before + LOOP + in_loop) if "is not prepared" in m]
    assert message.startswith("`other_loader` is not prepared: under several processes each of them takes its batches")


def test_a_second_loader_without_a_name_is_told() -> None:
    made = "DataLoader(test_data, batch_size=8)"
    messages = told(f"batches = Endless({made})\n{LOOP}{NEXT}", head=f"from job import Endless\n{HEAD}")
    assert any(message.startswith(f"`{made}` is not prepared") for message in messages)


@pytest.mark.parametrize("script", [f"x, y = next(iter(test_loader))\n{LOOP}", f"{LOOP}    z = next(iter(loader))\n"])
def test_a_batch_that_is_looked_at_before_the_training_or_is_of_its_loader_is_not(script: str) -> None:
    assert not any("is not prepared" in message for message in told(script))
