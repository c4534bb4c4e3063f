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
