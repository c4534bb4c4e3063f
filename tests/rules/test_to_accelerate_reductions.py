"""--to-accelerate: what processes add up together, and how a loop keeps them from doing so."""

import pytest

from tests.rules.scripts import Outcome, converted

SCRIPT = """\
import os
from contextlib import nullcontext
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from job import rows

{helper}

def loaders(size):
    sampler = DistributedSampler(rows)
    return DataLoader(rows, batch_size=size, sampler=sampler)

def main():
    dist.init_process_group("nccl")
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    model = DistributedDataParallel(torch.nn.Linear(3, 3).cuda(rank), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = loaders(4)
    {before}
    for epoch in range(3):
        {epoch}
        for number, (x, y) in enumerate(loader):
            x, y = x.cuda(rank), y.cuda(rank)
            {step}
            optimizer.step()
            optimizer.zero_grad()
            {after}
    dist.destroy_process_group()

main()
"""
STEP = "loss = (model(x) - y).pow(2).mean()\nloss.backward()"
PASS = "pass"


def outcome(
    helper: str = "", before: str = PASS, epoch: str = PASS, step: str = STEP, after: str = PASS, loaders: str = ""
) -> Outcome:
    text = SCRIPT.replace("{helper}", helper).replace("{before}", before.replace("\n", "\n    "))
    text = text.replace("{epoch}", epoch).replace("{step}", step.replace("\n", "\n            "))
    text = text.replace("{after}", after.replace("\n", "\n            "))
    if loaders:
        text = text.replace("loader = loaders(4)", loaders)
        text = text.replace("batch_size=size, sampler=sampler)", "batch_size=size, sampler=sampler), sampler")
    return converted(text, to_accelerate=True)


HELPER = """\
def mean_of(tensor, size):
    total = tensor.clone()
    dist.all_reduce(total, op=dist.ReduceOp.SUM)
    total /= size
    return total
"""


def test_a_function_that_adds_up_gets_the_accelerator() -> None:
    text = outcome(HELPER, after="mean = mean_of(loss.detach(), 2)\nprint(mean)").text
    assert "def mean_of(tensor, size, accelerator):" in text
    assert '    total = accelerator.reduce(total, reduction="sum")\n    total /= size\n' in text
    assert "mean = mean_of(loss.detach(), 2, accelerator)" in text


@pytest.mark.parametrize(
    ("helper", "after"),
    [
        ("def add(t):\n    dist.all_reduce(t)\n    return t / 2\n", "mean = add(loss.data)"),
        ("def add(t):\n    t = t.clone()\n    t *= 2\n    dist.all_reduce(t)\n    print(t)\n", "add(loss.data)"),
        ("def add(t):\n    a, b = t.chunk(2)\n    dist.all_reduce(a)\n    print(a)\n", "add(loss.data)"),
        ("", "for p in model.parameters():\n    dist.all_reduce(p.grad)"),
        ("", "total = loss.detach().clone()\nif rank >= 0:\n    dist.all_reduce(total)\nprint(total)"),
        ("", "shown = loss\ndist.all_reduce(shown)\nprint(shown)"),
        ("", "shown = loss.detach()\nprint(loss)\ndist.all_reduce(shown)\nprint(shown)"),
        ("", "loss = loss.detach().view(-1)\ndist.all_reduce(loss)\nprint(loss)"),
        ("", "pair = torch.stack([loss, loss])\ndist.all_reduce(loss)\nprint(loss, pair)"),
        ("", "print('%s' % (loss,))\ndist.all_reduce(loss)\nkept = [loss]\nprint(kept)"),
        ("", "output = model(x)\nshown = output.loss\ndist.all_reduce(shown)\nprint(shown)"),
        (
            "",
            "output = model(x)\nprint(output.logits)\nflat = output.loss.view(-1)\ndist.all_reduce(flat)\nprint(flat)",
        ),
        (
            "",
            "o = model(x)\nfirst = o.loss\nprint(first)\nflat = o.loss.data\ndist.all_reduce(flat)\nprint(flat)",
        ),
        ("", "output = model(x)\nkept = [output.logits]\nflat = output.loss\ndist.all_reduce(flat)\nprint(flat, kept)"),
        ("", "first = loss.detach()\nprint(first)\ndist.all_reduce(loss)\nprint(loss)"),
        ("", "total = loss.clone()\ntotal /= 2\nkept = {'loss': total.item()}\ndist.all_reduce(total)\nprint(kept)"),
    ],
)
def test_a_tensor_that_has_one_name_gets_the_sum(helper: str, after: str) -> None:
    assert "accelerator.reduce(" in outcome(helper, after=after).text


@pytest.mark.parametrize(
    ("helper", "after"),
    [
        ("def add(t):\n    dist.all_reduce(t)\n    t /= 2\n", "add(loss.data)"),
        ("def add(t):\n    dist.all_reduce(t)\n    return t\n", "add(loss.data)"),
        ("def add(*ts):\n    for t in ts:\n        dist.all_reduce(t)\n", "add(loss.data)"),
        ("TOTAL = torch.zeros(1)\ndef add():\n    dist.all_reduce(TOTAL)\n", "add()"),
        ("def add(t):\n    same = t\n    dist.all_reduce(same)\n", "add(loss.data)"),
        ("def add(t):\n    same = t.detach()\n    dist.all_reduce(same)\n    return same\n", "mean = add(loss.data)"),
        ("", "shown = loss\ndist.all_reduce(shown)\nprint(loss)"),
        ("", "shown = loss\nshown += 1\ndist.all_reduce(shown)\nprint(loss)"),
        ("", "shown = loss\ndist.all_reduce(loss)\nprint(shown)"),
        ("", "shown = again = loss.clone()\ndist.all_reduce(shown)\nprint(again)"),
        ("", "flat = loss.detach().view(-1)\ndist.all_reduce(flat)\nprint(loss)"),
        ("", "output = model(x)\nflat = output.loss.detach()\ndist.all_reduce(flat)\nprint(output.loss)"),
        ("", "output = model(x)\nshown = output.loss\ndist.all_reduce(shown)\nprint(output.loss)"),
        ("", "all = []\no = model(x)\nall.append(o)\nshown = o.loss\ndist.all_reduce(shown)\nprint(all)"),
        ("", "state = job.state(x)\nshown = state.loss\ndist.all_reduce(shown)\nprint(shown)"),
        ("", "output = model(x)\nfirst = output.loss\nflat = output.loss.data\ndist.all_reduce(flat)\nprint(first)"),
        (
            "",
            "output = model(x)\nkept = [output.loss.detach()]\nflat = output.loss\ndist.all_reduce(flat)\nprint(kept)",
        ),
        ("", "o = model(x)\nfirst = o.loss\nkept = {'loss': first}\nflat = o.loss\ndist.all_reduce(flat)\nprint(kept)"),
        ("", "first = loss.detach()\ndist.all_reduce(loss)\nprint(first)"),
        ("", "kept = []\nkept.append(loss.detach())\ndist.all_reduce(loss)\nprint(kept)"),
        ("", "kept = {'loss': loss}\ndist.all_reduce(loss)\nprint(kept)"),
        ("", "kept = dict(loss=loss)\ndist.all_reduce(loss)\nprint(kept)"),
        ("", "kept = []\nkept.append(loss)\ndist.all_reduce(loss)\nprint(kept)"),
        ("", "shown = loss\nkept = [loss]\ndist.all_reduce(shown)\nprint(kept)"),
        ("", "total = torch.zeros(1)\nfor _ in range(2):\n    dist.all_reduce(total)\n    kept = [total]"),
    ],
)
def test_a_tensor_that_others_hold_is_in_the_way(helper: str, after: str) -> None:
    found = outcome(helper, after=after)
    assert "accelerator" not in found.text
    assert any("changes a tensor that other code holds too" in message for message in found.messages)


@pytest.mark.parametrize(
    ("given", "now"),
    [
        ("loss, op=dist.ReduceOp.MAX", "loss = accelerator.gather(loss[None]).amax(0)"),
        ("loss, dist.ReduceOp.MIN", "loss = accelerator.gather(loss[None]).amin(0)"),
        ("tensor=loss, op=Op.PRODUCT", "loss = accelerator.gather(loss[None]).prod(0, dtype=loss.dtype)"),
        ("loss, dist.ReduceOp.AVG", 'loss = accelerator.reduce(loss, reduction="mean")'),
    ],
)
def test_each_operation_that_is_known_of_all_processes(given: str, now: str) -> None:
    helper = "from torch.distributed import ReduceOp as Op"
    assert now in outcome(helper, after=f"dist.all_reduce({given})\nprint(loss)").text


@pytest.mark.parametrize("operation", ["dist.ReduceOp.BAND", "dist.ReduceOp.PREMUL_SUM", "choose()"])
def test_an_operation_that_is_not_is_in_the_way(operation: str) -> None:
    found = outcome(after=f"dist.all_reduce(loss, {operation})")
    assert "accelerator" not in found.text
    assert any("has no equal in accelerate" in message for message in found.messages)


@pytest.mark.parametrize("call", ["dist.all_reduce(loss, group=GROUP)", "[dist.all_reduce(t) for t in (loss,)]"])
def test_what_is_no_sum_of_all_is_in_the_way(call: str) -> None:
    assert any("has no equal in accelerate" in message for message in outcome(after=call).messages)


@pytest.mark.parametrize(
    ("step", "now"),
    [
        ("with model.no_sync():\n    loss = model(x).mean()\n    loss.backward()", "with accelerator.no_sync(model):"),
        (
            "with model.no_sync() if number % 2 else nullcontext():\n    loss = model(x).mean()\n    loss.backward()",
            "with accelerator.no_sync(model) if number % 2 else nullcontext():",
        ),
        (
            "context = model.no_sync() if number % 2 else nullcontext()\nwith context:\n    loss = model(x).mean()\n"
            "    loss.backward()",
            "context = accelerator.no_sync(model) if number % 2 else nullcontext()",
        ),
    ],
)
def test_gradients_that_are_not_synchronized(step: str, now: str) -> None:
    assert now in outcome(step=step).text


def test_the_model_has_no_wrapper_before_it_is_prepared() -> None:
    text = outcome(before='model.module.load_state_dict(torch.load("m.pt"))', after="print(model.module.bias)").text
    assert '    model.load_state_dict(torch.load("m.pt"))\n' in text
    assert "print(accelerator.unwrap_model(model).bias)" in text


@pytest.mark.parametrize(
    ("loaders", "epoch", "now"),
    [
        ("loader, sampler = loaders(4)", "sampler.set_epoch(epoch)", "loader = loaders(4)"),
        (
            "loader, shares = loaders(4)",
            "if shares is not None:\n            shares.set_epoch(epoch)",
            "loader = loaders",
        ),
        ("loader, _ = loaders(4)", "loader.sampler.set_epoch(epoch)", "loader = loaders(4)"),
        ("(loader, sampler) = loaders(4)", PASS, "loader = loaders(4)"),
    ],
)
def test_a_sampler_that_is_returned_beside_its_loader_goes(loaders: str, epoch: str, now: str) -> None:
    text = outcome(loaders=loaders, epoch=epoch).text
    assert f"    {now}" in text
    assert "    return DataLoader(rows, batch_size=size, shuffle=True)\n" in text
    assert "ampler" not in text.replace("shares", "") and "set_epoch" not in text


@pytest.mark.parametrize(
    ("loaders", "epoch"),
    [
        ("loader, sampler = loaders(4)", "print(sampler.num_samples)"),
        ("pair = loaders(4)\n    loader, sampler = pair", "sampler.set_epoch(epoch)"),
        ("loader, sampler = loaders(4)", "start(loader, sampler)"),
        ("kept = {}\n    loader, kept['train'] = loaders(4)", "kept['train'].set_epoch(epoch)"),
    ],
)
def test_a_sampler_that_is_used_otherwise_is_in_the_way(loaders: str, epoch: str) -> None:
    found = outcome(loaders=loaders, epoch=epoch)
    assert "accelerator" not in found.text
    assert any("a DistributedSampler, is used outside of its DataLoader" in message for message in found.messages)


def test_the_length_of_one_that_is_shown_is_that_of_its_rows() -> None:
    text = outcome(loaders="loader, sampler = loaders(4)", epoch="print(len(sampler))").text
    assert "print(math.ceil(len(rows) / accelerator.num_processes))" in text


METER = """\
class Meter:
    def __init__(self):
        self.sum = 0.0

    def update(self, value):
        self.sum += value

    def all_reduce(self):
        total = torch.tensor([self.sum], device="cuda")
        dist.all_reduce(total, dist.ReduceOp.SUM, async_op=False)
        self.sum = total.item()
"""


def test_an_object_that_counts_adds_up_without_the_accelerator() -> None:
    found = outcome(METER, before="meter = Meter()", after="meter.update(loss.item())\nmeter.all_reduce()")
    assert 'total = accelerate.utils.reduce(total, reduction="sum")' in found.text
    assert "import accelerate.utils\n" in found.text
    assert not any("counts the batches of one of them" in message for message in found.messages)


def test_one_that_does_not_counts_those_of_one_process() -> None:
    found = outcome(
        METER.partition("    def all_reduce")[0], before="meter = Meter()", after="meter.update(loss.item())"
    )
    assert any("`meter` counts the batches of one of them" in message for message in found.messages)


def test_one_that_is_given_what_is_added_up_is_of_all_processes() -> None:
    helper = HELPER + METER.partition("    def all_reduce")[0].replace("self, value", "self, value, n=1")
    after = "meter.update({}.item(), x.size(0))"
    found = outcome(helper, before="meter = Meter()", after=after.format("mean_of(loss.detach(), 2)"))
    assert "meter.update(mean_of(loss.detach(), 2, accelerator).item(), x.size(0))" in found.text
    assert not any("counts the batches of one of them" in message for message in found.messages)
    after = "print(mean_of(loss.detach(), 2))\n" + after.format("loss.detach()")
    found = outcome(helper, before="meter = Meter()", after=after)
    assert any("counts the batches of one of them" in message for message in found.messages)


def test_an_object_that_counts_finds_the_greatest_without_the_accelerator() -> None:
    helper = METER.replace("SUM", "MAX")
    found = outcome(helper, before="meter = Meter()", after="meter.update(loss.item())\nmeter.all_reduce()")
    assert "total = accelerate.utils.gather(total[None]).amax(0)" in found.text
    assert "import accelerate.utils\n" in found.text


REDUCED = 'sums = accelerator.reduce(sums, reduction="sum")'


@pytest.mark.parametrize(
    ("before", "after", "epoch"),
    [
        ("sums = torch.zeros(2).cuda()", "sums[0] += loss.detach()", "dist.all_reduce(sums)"),
        (
            "total, seen = 0.0, 0",
            "total += loss.item()\nseen += len(x)",
            "sums = torch.tensor([total, seen]).cuda(rank)\ndist.all_reduce(sums)",
        ),
        (
            "totals = {'loss': 0.0}",
            "totals['loss'] += loss.item()",
            "sums = torch.tensor(list(totals.values())).cuda(rank)\ndist.all_reduce(sums)",
        ),
    ],
)
def test_slots_and_sums_that_are_added_up_later_are_of_all_processes(before: str, after: str, epoch: str) -> None:
    found = outcome(before=before, after=after)
    assert any("counts the batches of one of them" in message for message in found.messages)
    found = outcome(before=before, after=after, epoch=epoch.replace("\n", "\n        "))
    assert REDUCED in found.text
    assert not any("counts the batches of one of them" in message for message in found.messages)


SETUP = """\
def setup():
    place = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(place)
    return place
"""
SET_UP = "place = setup()\nmean = torch.zeros(3).cuda(place)"


def test_a_function_that_nothing_calls_any_more_goes() -> None:
    assert "def setup" not in outcome(f"{SETUP}\n", before=SET_UP).text
    assert "def setup" in outcome(f"{SETUP}\n__all__ = ['setup']\n", before=SET_UP).text
    assert "def setup" in outcome(f"{SETUP}\n", before=f"{SET_UP}\nprint(setup)").text


@pytest.mark.parametrize(
    "place",
    ['int(os.environ["LOCAL_RANK"])', 'torch.device("cuda", int(os.environ["LOCAL_RANK"]))'],
)
def test_a_function_that_sets_a_seed_too_stays_called(place: str) -> None:
    before = "place = setup()\nmean = torch.zeros(3).cuda(place)"
    text = outcome(f"def setup():\n    torch.manual_seed(0)\n    return {place}\n\n\n", before=before).text
    assert "torch.manual_seed(0)\n    return accelerator." in text and "place = setup(accelerator)\n" in text
