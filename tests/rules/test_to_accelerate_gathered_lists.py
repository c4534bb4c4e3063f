"""RM856: whether there are processes, lists that they gather into, functions that ask which one is the first."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome, converted

SCRIPT = """\
import os
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter
from job import rows, test_rows

{helpers}

def evaluate(model, loader, device):
    model.eval()
    found = []
    with torch.no_grad():
        for x, y in loader:
            found.append(model(x.to(device)).argmax(-1))
    own = torch.cat(found)
    {gather}


def main():
    dist.init_process_group("nccl")
    rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", rank)
    loader = DataLoader(rows, batch_size=4, sampler=DistributedSampler(rows))
    test_sampler = DistributedSampler(test_rows, shuffle=False)
    test_loader = DataLoader(test_rows, batch_size=4, sampler=test_sampler{drop})
    model = DDP(nn.Linear(3, 2).to(device), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    {writer}
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    evaluate(model, test_loader, device)
    {last}


if __name__ == "__main__":
    main()
"""
ZEROS = "parts = [torch.zeros_like(own) for _ in range(dist.get_world_size())]"
GATHER = f"{ZEROS}\n    dist.all_gather(parts, own)\n    return torch.cat(parts).cpu().numpy()"


def accelerated(
    helpers: str = "", gather: str = "return own", writer: str = "pass", last: str = "pass", drop: str = ""
) -> Outcome:
    script = SCRIPT.format(helpers=helpers, gather=gather, writer=writer, last=last, drop=drop)
    outcome = converted(script, to_accelerate=True)
    compile(outcome.text, "after", "exec")
    return outcome


@pytest.mark.parametrize(
    ("gather", "after"),
    [
        (GATHER, "    parts = accelerator.gather(own)\n    return parts.cpu().numpy()\n"),
        (
            GATHER.replace("zeros_like", "empty_like").replace("own)\n    return", "own, async_op=False)\n    return"),
            "    parts = accelerator.gather(own)\n    return parts.cpu().numpy()\n",
        ),
        (GATHER.replace("cat(parts)", "cat(parts, dim=0)"), "    return parts.cpu().numpy()\n"),
        (
            "parts = [None] * dist.get_world_size()\n    dist.all_gather_object(parts, own)\n    return sum(parts, [])",
            "    parts = accelerate.utils.gather_object([own])\n    return sum(parts, [])\n",
        ),
        (
            "parts = [None for _ in range(4)]\n    dist.all_gather_object(parts, own)\n    return parts[0]",
            "    parts = accelerate.utils.gather_object([own])\n    return parts[0]\n",
        ),
        (
            "parts = [None] * dist.get_world_size()\n    dist.all_gather_object(parts, (own, found))\n"
            "    return [part[0] for part in parts]",
            "    parts = accelerate.utils.gather_object([(own, found)])\n    return [part[0] for part in parts]\n",
        ),
        (
            "parts = [None] * dist.get_world_size()\n    dist.all_gather_object(parts, [own])\n    return parts[0]",
            "    parts = accelerate.utils.gather_object([[own]])\n    return parts[0]\n",
        ),
    ],
)
def test_what_is_gathered_into_a_list_is_gathered_by_the_accelerator(gather: str, after: str) -> None:
    outcome = accelerated(gather=gather)
    assert after in outcome.text
    assert "dist." not in outcome.text and "torch.distributed" not in outcome.text
    assert "gather_for_metrics" not in outcome.text  # the script gathers by itself


@pytest.mark.parametrize(
    "gather",
    [
        GATHER.replace("cat(parts)", "stack(parts)"),
        GATHER.replace("cat(parts)", "cat(parts, dim=1)"),
        GATHER.replace("    return", "    parts[dist.get_rank()] = own\n    return"),
        GATHER.replace("dist.all_gather", "print(parts)\n    dist.all_gather"),
        GATHER.replace("(parts, own)", "(parts, own, group=group)"),
        GATHER.replace("(parts, own)", "(parts, own * 2)"),
        GATHER.replace("dist.all_gather", "work = dist.all_gather"),
        "parts = [None] * 2\n    dist.all_gather_object(parts, (own, own.to(device)))\n    return parts[0]",
        "parts = [None] * 2\n    dist.all_gather_object(parts, ())\n    return parts[0]",
        GATHER.replace(ZEROS, "parts = made(own)"),
        "dist.all_gather(own.parts, own)\n    return own",
        "parts = list(own)\n    dist.all_gather_object(parts, own)\n    return parts",
    ],
)
def test_other_lists_keep_the_loop(gather: str) -> None:
    outcome = accelerated(gather=gather)
    assert "Accelerator" not in outcome.text
    assert "is not converted; acceler" in outcome.messages[0]


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("return not dist.is_initialized() or dist.get_rank() == 0", "return accelerator.is_main_process"),
        ("return (not dist.is_initialized()) or (dist.get_rank() == 0)", "return accelerator.is_main_process"),
        (
            'return not dist.is_initialized() or int(os.environ["LOCAL_RANK"]) == 0',
            "return accelerator.is_local_main_process",
        ),
        (
            "local = dist.get_node_local_rank()\n    return not dist.is_initialized() or 0 == local",
            "return accelerator.is_local_main_process",
        ),
        ("return (dist.get_rank() if dist.is_initialized() else 0) == 0", "return accelerator.process_index == 0"),
        (
            "return dist.is_initialized() and dist.get_rank() == 0",
            "return accelerator.use_distributed and accelerator.is_main_process",
        ),
        (
            "return not dist.is_initialized() or not dist.is_available()",
            "return not accelerator.use_distributed or not dist.is_available()",
        ),
    ],
)
def test_whether_there_are_processes_is_asked_of_the_accelerator(body: str, after: str) -> None:
    outcome = accelerated(f"def is_main():\n    {body}\n\n", last="if is_main():\n        print(model)")
    assert after in outcome.text.replace("(accelerator.is_main_process)", "accelerator.is_main_process")
    assert "def is_main(accelerator):" in outcome.text


def test_a_number_of_processes_that_are_perhaps_not_there() -> None:
    last = "print(dist.get_world_size() if dist.is_initialized() else 1)"
    assert "print(accelerator.num_processes)" in accelerated(last=last).text


@pytest.mark.parametrize("number", ["dist.get_rank()", "dist.get_world_size()", 'int(os.environ["WORLD_SIZE"])'])
def test_a_number_that_nothing_reads_does_not_ask_for_a_group(number: str) -> None:
    text = accelerated(last=f"unread = {number}").text
    assert "Accelerator(" in text and "dist." not in text and "environ" not in text


@pytest.mark.parametrize("test", ["not dist.is_initialized()", "dist.is_available() and not dist.is_initialized()"])
def test_a_group_that_is_made_if_there_is_none(test: str) -> None:
    made = "    dist.init_process_group("
    script = SCRIPT.format(helpers="", gather="return own", writer="pass", last="pass", drop="")
    text = converted(script.replace(made, f"    if {test}:\n    {made}"), to_accelerate=True).text
    assert "Accelerator(" in text and "use_distributed" not in text and "dist." not in text
    compile(text, "after", "exec")


FIRST = "def is_main():\n    return dist.get_rank() == 0\n\n"
RANKS = """\
def ready():
    if not dist.is_available():
        return False
    return dist.is_initialized()


def rank_of():
    if not ready():
        return 0
    return dist.get_rank()


def is_main():
    return rank_of() == 0

"""


@pytest.mark.parametrize("helpers", [FIRST, RANKS, FIRST.replace("== 0", "== 0 if dist.is_initialized() else True")])
@pytest.mark.parametrize(
    ("writer", "last", "told"),
    [
        ("writer = SummaryWriter() if is_main() else None", "pass", False),
        ("writer = None\n    if is_main():\n        writer = SummaryWriter()", "pass", False),
        ("writer = SummaryWriter() if not is_main() else None", "pass", True),
        ("writer = None if is_main() else SummaryWriter()", "pass", True),
        ("pass", "if is_main():\n        open('log', 'w').write('x')", False),
        ("pass", "if not is_main():\n        open('log', 'w').write('x')", True),
    ],
)
def test_functions_that_ask_for_the_first_process(helpers: str, writer: str, last: str, told: bool) -> None:
    outcome = accelerated(helpers, writer=writer, last=last)
    assert "Accelerator(" in outcome.text
    assert bool(outcome.lines("RM857", Kind.MANUAL)) is told


@pytest.mark.parametrize(
    ("helpers", "rank", "told"),
    [
        ("def start():\n    return dist.get_rank(), dist.get_world_size()\n\n", "here, size = start()", False),
        ("def start():\n    here = dist.get_rank()\n    return here, 2\n\n", "(here, size) = start()", False),
        ("def start():\n    return dist.get_rank()\n\n", "here = start()", False),
        ("", "here = 0\n    if dist.is_initialized():\n        here = dist.get_rank()", False),
        ("def start():\n    return dist.get_world_size(), dist.get_rank()\n\n", "here, size = start()", True),
        ("", "here = 0", True),
    ],
)
def test_the_number_of_a_process_that_a_function_gives_with_others(helpers: str, rank: str, told: bool) -> None:
    outcome = accelerated(helpers, writer=f"{rank}\n    writer = SummaryWriter() if here == 0 else None")
    assert "Accelerator(" in outcome.text
    assert bool(outcome.lines("RM857", Kind.MANUAL)) is told


@pytest.mark.parametrize(("drop", "told"), [("", True), (", drop_last=True", False), (", drop_last=config.drop", True)])
@pytest.mark.parametrize("gather", [GATHER, "dist.all_reduce(own)\n    return own"])
def test_rows_that_are_counted_twice_are_told(gather: str, drop: str, told: bool) -> None:
    outcome = accelerated(gather=gather, drop=drop)
    assert any("fills the last batches with rows from the start" in message for message in outcome.messages) is told


EACH = """def gathered(own):
    parts = [torch.zeros_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, own)
    return torch.cat(parts)

"""


@pytest.mark.parametrize(
    ("cut", "told"),
    [
        ("[: len(test_rows)]", False),
        ("[: len(loader.dataset)]", False),
        ("[: len(rows)]", True),
        ("[: len(found)]", True),
        ("[1 : len(test_rows)]", True),
        ("", True),
    ],
)
@pytest.mark.parametrize("each", [True, False])
def test_rows_that_are_cut_off_are_not_counted_twice(cut: str, each: bool, told: bool) -> None:
    own = "model(x.to(device)).argmax(-1)"
    script = SCRIPT.format(helpers=EACH, gather=f"return own{cut}", writer="pass", last="pass", drop="")
    if each:
        script = script.replace(own, f"gathered({own})")
    else:  # the rows that fill the last batch of the first process stand in the middle then
        script = script.replace("own = torch.cat(found)", "own = gathered(torch.cat(found))")
    outcome = converted(script, to_accelerate=True)
    assert "Accelerator(" in outcome.text
    assert any("fills the last batches" in message for message in outcome.messages) is (told or not each)


def test_a_loop_whose_rows_are_gathered_counts_none_twice() -> None:
    assert not any("fills the last batches" in message for message in accelerated().messages)


OBJECTS = "parts = [None] * dist.get_world_size()\n    dist.all_gather_object(parts, own)\n    "


@pytest.mark.parametrize(
    "use",
    [
        "return [parts[i % 2][i // 2] for i in range(10)]",
        "return [row for rows in zip(*parts) for row in rows]",
        "return list(zip(parts[0], parts[1]))",
        "return {rank: part for rank, part in enumerate(parts)}",
        "every = parts\n    return every[len(own)]",
        "return torch.tensor(parts).T.flatten()",
    ],
)
def test_lists_that_put_rows_back_into_the_order_of_a_sampler_keep_the_loop(use: str) -> None:
    outcome = accelerated(gather=OBJECTS + use)
    assert "Accelerator" not in outcome.text
    assert "the Accelerator gives each process whole batches in turn" in outcome.messages[0]


@pytest.mark.parametrize(
    "use",
    [
        "return [row for part in parts for row in part]",
        "return list(itertools.chain(*parts))",
        "return sum(map(len, parts)) / len(parts)",
        "return torch.cat(parts)",
        "for part in parts:\n        print(part)",
        "return parts",
    ],
)
def test_lists_that_are_read_one_process_after_the_other(use: str) -> None:
    outcome = accelerated("import itertools", gather=OBJECTS + use)
    assert "parts = accelerate.utils.gather_object([own])" in outcome.text


@pytest.mark.parametrize(
    ("added", "rest"),
    [
        ("model(x.to(device))", ""),  # under no_grad
        ("model(x.to(device)).argmax(-1)", ""),
        ("model(x.to(device)).detach()", ""),
        ("model(x.to(device))", ".detach()"),
    ],
)
def test_what_is_gathered_has_no_gradient(added: str, rest: str) -> None:
    script = SCRIPT.format(helpers="", gather=GATHER, writer="pass", last="pass", drop="")
    script = script.replace("model(x.to(device)).argmax(-1)", added)
    if rest or "(-1)" in added or "detach" in added:
        script = script.replace("with torch.no_grad():", "if True:")
    outcome = converted(script, to_accelerate=True)
    assert f"    parts = accelerator.gather(own){rest}\n" in outcome.text
