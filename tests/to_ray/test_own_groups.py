"""A script that makes the process group itself, as under torchrun (RM827), and what that says of its GPUs (RM804)."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome, converted

HEAD = """\
import os, torch
import torch.distributed as dist
from datetime import timedelta
from torch.distributed import init_process_group
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
"""
LOAD = 'model = AutoModelForCausalLM.from_pretrained("gpt2")\n'
TRAIN = 'Trainer(model, TrainingArguments("out")).train()\n'
ALL_GPUS = "the Trainer took all of them (DataParallel)"


def outcome(text: str, **options: object) -> Outcome:
    """What becomes of a script, which has to be converted."""
    found = converted(f"{HEAD}{text}{TRAIN}", to_ray=True, **options)
    assert "trainer = TorchTrainer(" in found.text, found.messages
    return found


@pytest.mark.parametrize(
    ("script", "left"),
    [
        (
            'if torch.cuda.is_available():\n    rank = int(os.environ["LOCAL_RANK"])\n'
            '    dist.init_process_group("nccl")\n',
            "    if torch.cuda.is_available():\n        rank = int(os.environ",
        ),
        (
            "if dist.is_available():\n    n = 3\n    dist.init_process_group()\n",
            "    if dist.is_available():\n        n = 3\n",
        ),
        (
            'if torch.cuda.is_available():\n    init_process_group("nccl")\nelse:\n    init_process_group("gloo")\n'
            "    print(3)\n",
            "    if torch.cuda.is_available():\n        pass\n    else:\n        print(3)\n",
        ),
        (
            "try:\n    dist.init_process_group()\n    size = dist.get_world_size()\n"
            "except RuntimeError:\n    size = 1\n",
            "    try:\n        size = dist.get_world_size()\n",
        ),
        (
            "def set_up():\n    dist.init_process_group('nccl')\n    return dist.get_rank()\nrank = set_up()\n",
            "def set_up():\n    return dist.get_rank()\n",
        ),
        ("def set_up():\n    dist.init_process_group('nccl')\nset_up()\n", "def set_up():\n    pass\n"),
    ],
)
def test_the_group_goes_wherever_workers_make_it(script: str, left: str) -> None:
    found = outcome(script + LOAD)
    assert "init_process_group(" not in found.text
    assert left in found.text
    assert found.lines("RM827", Kind.CONVERTED)


def test_a_group_that_is_asked_for_before_stays() -> None:
    script = "def set_up():\n    if not dist.is_initialized():\n        dist.init_process_group()\nset_up()\n"
    found = outcome(script + LOAD)
    assert script.removesuffix("set_up()\n") in found.text


def test_a_group_within_a_statement_is_told() -> None:
    found = outcome(f"def set_up():\n    return dist.init_process_group()\nset_up()\n{LOAD}")
    assert found.lines("RM827", Kind.MANUAL) == [7]
    assert "raises a ValueError on a worker" in " ".join(found.messages)


@pytest.mark.parametrize(
    "script",
    [
        "dist.init_process_group('nccl', timeout=timedelta(hours=2))\n",
        "if torch.cuda.is_available():\n    dist.init_process_group('nccl', None, timedelta(minutes=120))\n    n = 3\n",
    ],
)
def test_ray_gets_the_timeout(script: str) -> None:
    assert "torch_config=TorchConfig(timeout_s=7200)" in outcome(script + LOAD).text


@pytest.mark.parametrize(
    ("script", "gpu"),
    [
        ("dist.init_process_group('nccl')\n", True),
        ("dist.init_process_group(backend='cpu:gloo,cuda:nccl')\n", True),
        ("if torch.cuda.is_available():\n    torch.cuda.set_device(int(os.environ['LOCAL_RANK']))\n", True),
        ("device = torch.device('cuda', int(os.environ['LOCAL_RANK']))\n", True),
        ("dist.init_process_group('gloo')\n", False),
        ("device = 'cuda' if torch.cuda.is_available() else 'cpu'\n", False),
        ("rank = int(os.environ['LOCAL_RANK'])\n", False),
    ],
)
def test_nccl_and_the_local_gpu_are_signs_of_one(script: str, gpu: bool) -> None:
    found = outcome(script + LOAD)
    assert f"use_gpu={gpu}" in found.text
    assert ("use_cpu=True" in found.text) is not gpu


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (LOAD, True),
        (f"dist.init_process_group('gloo')\n{LOAD}", False),
        (f"def set_up():\n    init_process_group('gloo')\nset_up()\n{LOAD}", False),
        (LOAD.replace(")", ', device_map="auto")'), False),
        (LOAD.replace(")", ', device_map="balanced")'), False),
        (f"if os.path.isdir('a'):\n    {LOAD}else:\n    {LOAD}".replace(")\n", ', device_map="auto")\n', 2), False),
        (f"if os.path.isdir('a'):\n    {LOAD}else:\n    {LOAD.replace(')', ', device_map=chr(97))')}", True),
        (LOAD.replace(")", ', device_map={"": 0})'), True),
    ],
)
def test_where_python_took_all_gpus(script: str, told: bool) -> None:
    found = outcome(script)
    assert any(ALL_GPUS in message for message in found.messages) is told


RANKED = """\
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("{option}", type=int, default=-1)
args = parser.parse_args()
"""


@pytest.mark.parametrize("option", ["--local_rank", "--local-rank"])
@pytest.mark.parametrize(
    "script",
    [
        "if args.local_rank != -1:\n    device = torch.device('cuda', args.local_rank)\n"
        "    dist.init_process_group('nccl')\n",
        "if args.local_rank == -1:\n    n = 3\nelse:\n    n = 1\n    dist.init_process_group('nccl')\n",
    ],
)
def test_a_branch_by_the_rank_of_the_command_line_is_left(option: str, script: str) -> None:
    text = f"{HEAD}{RANKED.format(option=option)}{script}{LOAD}{TRAIN}"
    found = converted(text, to_ray=True)
    assert found.text == text
    assert [code for code, _, _ in found.findings] == ["RM802"]


@pytest.mark.parametrize(
    ("option", "script", "told"),
    [
        ("--local_rank", "device = torch.device('cuda', args.local_rank)\n", True),
        (
            "--local-rank",
            "def place(args):\n    return torch.device('cuda', args.local_rank)\ndevice = place(args)\n",
            True,
        ),
        ("--local_rank", "if args.local_rank != -1:\n    dist.init_process_group('nccl')\n", False),
        ("--size", "device = torch.device('cuda', args.size)\n", False),
    ],
)
def test_the_rank_of_the_command_line_is_told(option: str, script: str, told: bool) -> None:
    found = outcome(RANKED.format(option=option) + script + LOAD)
    assert any('int(os.environ["LOCAL_RANK"]) in place of args.local_rank' in m for m in found.messages) is told


SHOWN_GPUS = "the Trainer took all that CUDA_VISIBLE_DEVICES names (DataParallel)"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("", ALL_GPUS),
        ('os.environ.setdefault("OMP_NUM_THREADS", "1")\n', ALL_GPUS),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"\n', SHOWN_GPUS),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = names()\n', SHOWN_GPUS),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "0"\n', ""),
        ('os.environ.setdefault("CUDA_VISIBLE_DEVICES", "3")\n', ""),
        ('os.environ.update({"CUDA_VISIBLE_DEVICES": "0"})\n', ""),
        ('os.environ.update(CUDA_VISIBLE_DEVICES="")\n', ""),
    ],
)
def test_gpus_that_the_script_chose_are_those_that_it_took(line: str, told: str) -> None:
    messages = [m for m in outcome(f"from job import names\n{line}{LOAD}").messages if "(DataParallel)" in m]
    assert len(messages) == bool(told) and all(told in message for message in messages)


PARSED = """
import argparse


def world():
    return int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


def parse():
    args = argparse.ArgumentParser().parse_args()
    {sets}
    return args


def shard(args):
    return args.world_size


args = parse()
"""
BOTH = "args.rank, args.world_size = world()"


@pytest.mark.parametrize(
    ("sets", "use", "told"),
    [
        (BOTH, "print(model, args.rank)\n", "rank: asked"),
        (BOTH, "print(model, args.rank, args.world_size)\n", "rank, world_size: asked"),
        (BOTH, "print(model, shard(args))\n", "world_size: asked"),
        ("setattr(args, 'rank', world()[0])", "print(model, args.rank)\n", "rank: asked"),
        ("args.rank = int(os.environ['RANK'])", "if args.rank == 0:\n    print(model)\n", "rank: asked"),
        ("args.local_rank = int(os.getenv('LOCAL_RANK', -1))", "print(model, args.local_rank)\n", "local_rank: asked"),
        (BOTH, "print(model, args.seed)\n", ""),
        ("args.rank = 3", "print(model, args.rank)\n", ""),
        ("args.home = os.environ.get('HOME')", "print(model, args.home)\n", ""),
    ],
)
def test_numbers_that_the_driver_asks_for_are_told_where_workers_read_them(sets: str, use: str, told: str) -> None:
    found = outcome(PARSED.format(sets=sets) + LOAD + use)
    asked = [message for message in found.messages if "asked for on the driver" in message]
    assert [message.partition(" for on")[0] for message in asked] == ([told] if told else [])


OPTION = 'parser.add_argument("--world-size", type=int, default=int(os.environ.get("WORLD_SIZE", 1)))\n'


@pytest.mark.parametrize(
    "parse",
    [
        f"parser = argparse.ArgumentParser()\n{OPTION}args = parser.parse_args()\n",
        f"def parse():\n    parser = argparse.ArgumentParser()\n    {OPTION}    return parser.parse_args()\n"
        "args = parse()\n",
    ],
)
def test_an_option_with_such_a_number_as_its_default_is_told(parse: str) -> None:
    found = outcome(f"import argparse\n{parse}{LOAD}print(model, args.world_size)\n")
    assert any(message.startswith("world_size: asked for on the driver") for message in found.messages)
    assert found.text.index("--world-size") < found.text.index("parse_args()") < found.text.index("def train_func")
