"""--to-accelerate: `--local_rank`, which accelerate launch does not give."""

from pathlib import Path

import pytest

from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated
from tests.rules.test_to_accelerate_files import project

PARSER = """import argparse


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("{option}", type=int, default=-1)
    return parser.parse_args()
"""
DISTRIBUTED = f"import torch.distributed as dist\n{HEAD}dist.init_process_group()\n"
GUARDED = "if {read} == 0:\n    print(loss)\n"
MAIN = "if accelerator.is_local_main_process:\n    print(loss)\n"
NOT_GIVEN = "accelerate launch gives no --local_rank"


@pytest.mark.parametrize("option", ["--local_rank", "--local-rank"])
@pytest.mark.parametrize(
    ("head", "read"),
    [
        ("import parsing\nargs = parsing.parse_args()\n", "args.local_rank"),
        ("from parsing import parse_args\nargs = parse_args()\n", "args.local_rank"),
        ("from parsing import parse_args\n", "parse_args().local_rank"),
        ("from parsing import *\noptions = parse_args()\n", "options.local_rank"),
    ],
)
def test_the_option_of_another_file_is_the_number_of_the_process(
    tmp_path: Path, option: str, head: str, read: str
) -> None:
    script = f"{head}{DISTRIBUTED}{LOOP}{GUARDED.format(read=read)}"
    after, messages = project(tmp_path, main=script, parsing=PARSER.format(option=option))
    assert after["main"].endswith(MAIN)
    assert not any(NOT_GIVEN in message for message in messages)


def test_the_option_of_a_file_that_calls_the_training_is_found(tmp_path: Path) -> None:
    body = "".join(f"    {line}\n" for line in f"{HEAD.partition('device = ')[2]}{LOOP}".splitlines())
    imports = HEAD.partition("device = ")[0]
    guard = "    if args.local_rank == 0:\n        print(loss)\n"
    training = f"import torch.distributed as dist\n{imports}\n\ndef train(args):\n    device = {body.lstrip()}{guard}"
    start = f"from training import train\n{PARSER.format(option='--local_rank')}\n\ntrain(parse_args())\n"
    after, _ = project(tmp_path, training=training, main=start)
    assert "    if accelerator.is_local_main_process:\n        print(loss)\n" in after["training"]


def test_another_file_that_reads_the_option_is_told_of(tmp_path: Path) -> None:
    logs = "def log(args, text):\n    if args.local_rank == 0:\n        print(text)\n"
    script = f"from logs import log\n{DISTRIBUTED}{LOOP}log(None, loss)\n"
    start = f"import main\n{PARSER.format(option='--local_rank')}"
    _, messages = project(tmp_path, main=script, logs=logs, start=start)
    assert any(NOT_GIVEN in message and "logs.py reads" in message for message in messages)


def test_an_option_that_is_not_seen_is_told_of() -> None:
    outcome = accelerated(LOOP, GUARDED.format(read="data.local_rank"), head=DISTRIBUTED)
    assert "if data.local_rank == 0:\n" in outcome.text
    assert any(f"{NOT_GIVEN}: `data.local_rank`" in message for message in outcome.messages)


@pytest.mark.parametrize(
    "script",
    [
        LOOP + GUARDED.format(read="data.local_rank"),
        "import os\ndata.local_rank = int(os.environ['LOCAL_RANK'])\n" + LOOP + GUARDED.format(read="data.local_rank"),
        "class Settings:\n    local_rank: int = 0\n\n\n" + LOOP + GUARDED.format(read="Settings().local_rank"),
        LOOP + "print(data.rank)\n",
    ],
)
def test_what_has_a_value_of_its_own_is_not_told_of(script: str) -> None:
    head = HEAD if script.startswith("for") and "rank == 0" in script else DISTRIBUTED
    assert not any(NOT_GIVEN in message for message in accelerated(script, head=head).messages)
