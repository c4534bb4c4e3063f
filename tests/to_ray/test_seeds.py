"""A seed that every worker sets is told as one only where it is the same in each."""

import pytest

from raymigrate.base.options import Options
from raymigrate.run.engine import convert

SCRIPT = """\
import os
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed

{define}

def main(args):
    accelerator = Accelerator()
    {seed}
    model, optimizer, loader = accelerator.prepare(*make(args))
    for batch in loader:
        accelerator.backward(model(batch).loss)
        optimizer.step()


args = load()
main(args)
"""
STEPS = "works gradient_accumulation_steps out of the number of workers: both say how many rows a step has"


def is_told(seed: str, define: str = "") -> bool:
    script = SCRIPT.format(define=define, seed=seed.replace("\n", "\n    "))
    result = convert(script, options=Options(to_ray=True, workers=2))
    assert result.after is not None, result.findings
    return any("Every worker sets this seed" in finding.message for finding in result.findings)


@pytest.mark.parametrize(
    "seed",
    [
        "set_seed(args.seed + accelerator.process_index)",
        "local_seed = args.seed + accelerator.process_index * 100003\ntorch.manual_seed(local_seed)",
        "rank = accelerator.process_index\nlocal = args.seed + rank\nmine = local * 2\nset_seed(mine)",
        "place = accelerator.local_process_index\nset_seed(args.seed + place)",
        "args.local_seed = args.seed + accelerator.process_index\ntorch.manual_seed(args.local_seed)",
        "seed = args.seed\nseed += accelerator.process_index\ntorch.manual_seed(seed)",
        "seed = int(os.environ['RANK']) + 1\ntorch.manual_seed(seed)",
        "place = torch.distributed.get_rank()\ntorch.manual_seed(3 + place)",
        "set_seed(args.seed, device_specific=True)",
    ],
)
def test_a_seed_of_each_process_is_not(seed: str) -> None:
    assert not is_told(seed)


def test_a_seed_of_each_process_that_a_function_is_given_is_not() -> None:
    assert not is_told("start(args.seed + accelerator.process_index)", "def start(seed):\n    torch.manual_seed(seed)")


@pytest.mark.parametrize(
    "seed",
    [
        "set_seed(args.seed)",
        "local_seed = args.seed + 1\ntorch.manual_seed(local_seed)",
        "place = accelerator.process_index\nset_seed(args.seed)",
        "seed = args.seed\nseed += 1\ntorch.manual_seed(seed)",
        "seed = int(os.environ['SEED'])\ntorch.manual_seed(seed)",
    ],
)
def test_a_seed_for_all_is(seed: str) -> None:
    assert is_told(seed)


def test_a_seed_for_all_that_a_function_is_given_is() -> None:
    assert is_told("start(args.seed)", "def start(seed):\n    torch.manual_seed(seed)")


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        ("lr = 0.1 * accelerator.num_processes\nmake_optimizer(lr=lr)", "at a learning rate that the script works out"),
        ("make_optimizer(lr=args.lr * dist.get_world_size())", "at a learning rate that the script works out"),
        ("make_optimizer(lr=args.lr)", "at the same learning rate"),
        (
            "lr = 0.1\nlr *= accelerator.num_processes\nmake_optimizer(lr=lr)",
            "at a learning rate that the script works",
        ),
        (
            "share = 8 // accelerator.num_processes\nload(batch_size=max(share, 1))",
            "works batch_size out of the number",
        ),
        ("data.map(f, batch_size=8 // accelerator.num_processes)", "take 1/N of the steps, at"),
        (
            "size = int(os.environ['WORLD_SIZE'])\nsteps = 32\nsteps //= size\nA(gradient_accumulation_steps=steps)",
            STEPS,
        ),
        ("size = dist.get_world_size()\nargs.gradient_accumulation_steps //= size", STEPS),
        ("args.gradient_accumulation_steps = args.gradient_accumulation_steps // dist.get_world_size()", STEPS),
        ("steps = 8\nA(gradient_accumulation_steps=steps)\nprint(dist.get_world_size())", "take 1/N of the steps, at"),
    ],
)
def test_steps_see_more_rows_at_the_same_rate_unless_the_script_counts_its_workers(rate: str, words: str) -> None:
    script = SCRIPT.format(define="import torch.distributed as dist", seed=rate.replace("\n", "\n    "))
    result = convert(script, options=Options(to_ray=True, workers=2))
    assert [words in finding.message for finding in result.findings if finding.code == "RM825"].count(True) == 1


TRAINER = """\
import random
import time
from datetime import datetime
from sklearn.model_selection import train_test_split
from transformers import Trainer, TrainingArguments, set_seed
from job import load, make
{define}
def main():
    {seed}
    trainer = Trainer(make(), TrainingArguments("out", seed=seed), train_dataset=load())
    trainer.train()

main()
"""
BY_TIME = "works this seed out of the time by itself"


@pytest.mark.parametrize(
    ("seed", "define", "told"),
    [
        ("seed = int(time.time())", "", 1),
        ("seed = 3\n    set_seed(int(datetime.now().timestamp()))", "", 1),
        ("seed = 3\n    start()", "def start():\n    random.seed(time.time_ns())", 1),
        ("seed = 3\n    rows = train_test_split(load(), random_state=int(time.time()))\n    print(rows)", "", 1),
        ("seed = 3\n    now = int(time.time())\n    set_seed(now % 2**32)", "", 1),
        ("seed = 3\n    set_seed(now())", "def now():\n    return int(time.time())", 1),
        ("seed = 3\n    start(seed=int(time.time()))", "def start(seed):\n    set_seed(seed)", 1),
        ("seed = 3\n    start(seed=int(time.time()))", "def start(seed):\n    print(seed)", 0),
        ("seed = 3\n    set_seed(BEGUN)", "BEGUN = int(time.time())", 0),
        ("seed = 3\n    begun = time.time()\n    set_seed(seed)\n    print(begun)", "", 0),
        ("seed = 3", "def start():\n    random.seed(time.time_ns())", 0),
    ],
)
def test_a_seed_by_the_time_is_told_where_workers_ask(seed: str, define: str, told: int) -> None:
    result = convert(TRAINER.format(seed=seed, define=define), options=Options(to_ray=True, workers=2))
    assert result.after is not None, result.findings
    messages = [finding.message for finding in result.findings]
    assert sum(BY_TIME in message for message in messages) == told
    assert any("sets the same seed" in message for message in messages) is not bool(told)


@pytest.mark.parametrize(
    "agree", ["torch.distributed.broadcast(now, 0)\n    set_seed(now.item())", "set_seed(now)"], ids=["one", "own"]
)
def test_a_seed_that_the_first_process_gives_the_others_is_not_told(agree: str) -> None:
    seed = f"now = torch.tensor(int(time.time()))\n    {agree}"
    result = convert(SCRIPT.format(define="import time", seed=seed), options=Options(to_ray=True, workers=2))
    assert any(BY_TIME in finding.message for finding in result.findings) is ("broadcast" not in agree)


@pytest.mark.parametrize(("workers", "told"), [(2, True), (1, False)])
def test_so_it_is_of_an_accelerate_script(workers: int, told: bool) -> None:
    script = SCRIPT.format(define="import time", seed="set_seed(int(time.time()))")
    result = convert(script, options=Options(to_ray=True, workers=workers))
    assert any(BY_TIME in finding.message for finding in result.findings) is told
    assert not any("Every worker sets this seed" in finding.message for finding in result.findings)
