"""--to-accelerate: processes that a script starts itself, how many they are, and what keeps such a loop native."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """\
import os
import multiprocessing

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.multiprocessing import spawn
from torch.utils.data import DataLoader

from job import rows


def main(gpu, size, epochs=3):
    dist.init_process_group("nccl", rank=gpu, world_size=size)
    loader = DataLoader(rows, batch_size=8)
    model = nn.Linear(20, 1).to(gpu)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(epochs):
        for inputs in loader:
            optimizer.zero_grad()
            model(inputs.to(gpu)).sum().backward()
            optimizer.step()
    {end}


if __name__ == "__main__":
    {start}
"""
COUNT = "n = torch.cuda.device_count()\n    "
ONE_PROCESS = "mp.spawn() started the processes: under python alone"
ENDS = "dist.destroy_process_group()"


def started(start: str, end: str = "print(epochs)") -> str:
    return SCRIPT.format(start=start, end=end)


@pytest.mark.parametrize(
    ("start", "called", "count"),
    [
        ("mp.spawn(main, args=(4,), nprocs=4, join=True)", "main(4)", "4"),
        ("n = 4\n    mp.spawn(main, (n,), n)", "main()", "4"),
        ("n = 2\n    mp.spawn(main, args=(n, 5), nprocs=n)", "main(5)", "2"),
        ("spawn(main, args=(1,))", "main(1)", "1"),
        ("n = 2\n    mp.start_processes(main, (n,), n, start_method='fork')", "main()", "2"),
        (f"{COUNT}mp.spawn(main, (n,), n)", "main()", ""),
        (
            "n = torch.cuda.device_count() // 2\n    mp.spawn(main, (n,), nprocs=n)",
            "main()",
            "`torch.cuda.device_count() // 2`",
        ),
        (
            "n = int(os.environ['N'])\n    torch.multiprocessing.spawn(main, (n,), nprocs=n)",
            "main()",
            "`int(os.environ['N'])`",
        ),
    ],
)
def test_the_number_of_processes_is_told(start: str, called: str, count: str) -> None:
    outcome = converted(started(start), to_accelerate=True)
    assert f"\n    {called}\n" in outcome.text and "gpu" not in outcome.text
    [message] = [message for message in outcome.messages if message.startswith("main() is called")]
    assert (f"They were {count}: " in message) is bool(count)
    assert len([m for m in outcome.messages if m.startswith(ONE_PROCESS)]) == 1


def test_that_ray_starts_the_processes_needs_no_word_on_a_launcher() -> None:
    start = f"{COUNT}mp.spawn(main, (n,), n)"
    outcome = converted(started(start), to_accelerate=True, to_ray=True)
    assert "TorchTrainer(" in outcome.text
    assert not [message for message in outcome.messages if message.startswith(ONE_PROCESS)]


def test_a_loop_that_torchrun_starts_is_not_said_to_be_spawned() -> None:
    outcome = converted(started("main(int(os.environ['LOCAL_RANK']), 2)"), to_accelerate=True)
    assert not [message for message in outcome.messages if message.startswith(ONE_PROCESS)]


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        (f"{COUNT}context = mp.spawn(main, (n,), n, join=False)\n    context.join()", "returns is used"),
        (f"{COUNT}assert mp.spawn(main, (n,), n) is None", "returns is used"),
        (f"{COUNT}mp.spawn(main, (n,), n, join=False)", "does not wait"),
        (f"{COUNT}mp.spawn(main, (n,), n, False)", "does not wait"),
        (f"{COUNT}mp.spawn(main, (n,), n) if n > 1 else main(0, 1)", "used in another way too"),
        (
            f"{COUNT}if n > 1:\n        mp.spawn(main, (n,), n)\n    else:\n        main(0, 1)",
            "used in another way too",
        ),
        ("given = (2,)\n    mp.spawn(main, args=(*given, 3), nprocs=2)", "gives to the processes is not seen"),
        ("mp.Process(target=main, args=(0, 1)).start()", "a Process of its own runs `main`"),
        ("multiprocessing.Process(None, main, args=(0, 1)).start()", "a Process of its own runs `main`"),
        ("mp.get_context('spawn').Process(target=main, args=(0, 1)).start()", "a Process of its own runs `main`"),
        (
            "c = multiprocessing.get_context()\n    [c.Process(None, main, args=(r, 2)).start() for r in range(2)]",
            "a Process of its own runs `main`",
        ),
        (
            "c = mp.get_context('fork') if os.getenv('F') else mp\n    c.Process(target=main, args=(0, 1)).start()",
            "a Process of its own runs `main`",
        ),
        (
            "c = multiprocessing.context.SpawnContext()\n    c.Process(target=main, args=(0, 1)).start()",
            "a Process of its own runs `main`",
        ),
    ],
)
def test_what_a_call_would_not_mean_is_refused(start: str, reason: str) -> None:
    outcome = converted(started(start), to_accelerate=True)
    assert outcome.text == started(start)
    [message] = [message for message in outcome.messages if "stays native" in message]
    assert reason in message


def test_several_trainings_one_after_the_other_need_their_groups() -> None:
    loop = f"{COUNT}for seed in range(3):\n        mp.spawn(main, (n,), n)"
    outcome = converted(started(loop, ENDS), to_accelerate=True)
    assert outcome.lines("RM851", Kind.MANUAL) and "several trainings" in outcome.messages[0]
    assert "accelerator.prepare(" in converted(started(loop), to_accelerate=True).text


@pytest.mark.parametrize(
    "start",
    [
        "mp.Process(target=print).start()\n    mp.spawn(main, args=(1,))",
        "mp.get_context('spawn').Process(target=print).start()\n    mp.spawn(main, args=(1,))",
        "rows.Process(target=main).start()",  # may be anything
    ],
)
def test_a_process_that_does_not_train_is_its_own_affair(start: str) -> None:
    assert "accelerator.prepare(" in converted(started(start), to_accelerate=True).text


@pytest.mark.parametrize(
    "place",
    [
        'torch.device("cuda", {})',
        'torch.device(f"cuda:{{{}}}")',
        'f"cuda:{{{}}}"',
        '"cuda:%d" % {}',
        '"cuda:{{}}".format({})',
        'torch.device("cuda:" + str({}))',
    ],
)
def test_a_device_that_a_number_is_part_of_is_the_accelerators(place: str) -> None:
    """The number is that of a process, and Ray's workers of several machines have GPUs with others, or none."""
    helper = f"def count(rank):\n    return torch.zeros(1, device={place.format('rank')})\n\n\ndef main("
    script = started(
        "mp.spawn(main, args=(4,), nprocs=4)", f"print(count(gpu), torch.ones(1, device={place.format('gpu')}))"
    )
    text = converted(script.replace("def main(", helper, 1), to_accelerate=True).text
    assert "def count(accelerator):\n    return torch.zeros(1, device=accelerator.device)\n" in text
    assert "print(count(accelerator), torch.ones(1, device=accelerator.device))" in text


@pytest.mark.parametrize(
    ("size", "is_shared"),
    [("batch_size=64 // size", True), ("64 // dist.get_world_size()", True), ("batch_size=64", False)],
)
def test_a_batch_that_is_worked_out_of_the_number_of_processes_is_told_so(size: str, is_shared: bool) -> None:
    script = started("mp.spawn(main, args=(4,), nprocs=4)").replace("batch_size=8", size)
    messages = converted(script, to_accelerate=True).messages
    assert any("the script works its size out of their number" in message for message in messages) is is_shared
    assert any("N of them take N times the rows" in message for message in messages) is not is_shared


def test_the_name_of_a_device_stays_a_text_where_it_is_no_place() -> None:
    started_with = started("mp.spawn(main, args=(4,), nprocs=4)", 'open("cuda:{}".format(gpu) + ".log")')
    text = converted(started_with, to_accelerate=True).text
    assert 'open("cuda:{}".format(accelerator.process_index) + ".log")' in text


ON_MACHINES = "Run accelerate launch on each machine, with --num_processes for all machines together"
NODES = "import argparse\nargs = argparse.Namespace(nodes=2, node=0)\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("rank=gpu, world_size=size", "rank=args.node * size + gpu, world_size=args.nodes * size"),
        ("rank=gpu, world_size=size", "rank=args.node * size + gpu, world_size=8"),
        ("def main(", "total = 2 * 4\n\n\ndef main("),
        ("rank=gpu, world_size=size", "rank=gpu, world_size=args.world_size"),
    ],
)
@pytest.mark.parametrize("start", ["mp.spawn(main, args=(4,), nprocs=4)", f"{COUNT}mp.spawn(main, (n,), n)"])
def test_several_machines_are_told_apart(old: str, new: str, start: str) -> None:
    script = (
        started(start)
        .replace(old, new)
        .replace("world_size=size", "world_size=total" if "total" in new else "world_size=size")
    )
    script = script.replace(
        "from job import rows\n", f"from job import rows\n{NODES}args.world_size = args.nodes * 4\n"
    )
    [message] = [m for m in converted(script, to_accelerate=True).messages if "main() is called" in m]
    assert ON_MACHINES in message and "give the first that number" not in message
    assert ("They were 4 on each machine." in message) is ("nprocs=4" in start)


def test_one_machine_is_not_taken_for_several() -> None:
    script = started("mp.spawn(main, args=(4,), nprocs=4)").replace("{end}", "print(2 * gpu)")
    assert not any(ON_MACHINES in message for message in converted(script, to_accelerate=True).messages)


def test_a_positional_only_number_of_the_process_is_not_taken_for_another() -> None:
    script = started(f"{COUNT}mp.spawn(main, args=(n,), nprocs=n)").replace("main(gpu, size", "main(gpu, /, size")
    outcome = converted(script, to_accelerate=True)
    assert outcome.text == script
    assert any("is not seen" in message for message in outcome.messages)
