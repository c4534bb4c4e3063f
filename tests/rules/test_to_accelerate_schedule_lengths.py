"""RM854 and RM858, --to-accelerate: where the length of a schedule comes from."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome
from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated
from tests.rules.test_to_accelerate_files import project
from tests.rules.test_to_accelerate_schedules import BATCH, WARMUP, scheduled

ARGS = "import argparse\nparser = argparse.ArgumentParser()\nargs = parser.parse_args()\n"
PREPARED = "scheduler = accelerator.prepare("
SCHEDULES = f"from transformers import {WARMUP}\n\n\n"
SHORT = "gives the number of steps, N processes are through the schedule after 1/N of them"


def made_with(setup: str, length: str) -> Outcome:
    return accelerated(scheduled(f"{WARMUP}(optimizer, 0, {length})", ARGS + setup), LOOP, BATCH)


@pytest.mark.parametrize(
    ("setup", "length"),
    [
        ("args.steps = 3 * len(loader)\n", "args.steps"),
        ("args.steps = 3 * len(loader)\nargs.half = args.steps // 2\n", "args.half"),
        ("setattr(args, 'steps', 3 * len(loader))\n", "args.steps"),
        ("plan = {'steps': 0}\nplan['steps'] = 3 * len(loader)\n", "plan['steps']"),
        ("plan = vars(args)\nplan.update(steps=3 * len(loader))\n", "plan['steps']"),
        ("steps = 0\nfor _ in range(3):\n    steps += len(loader)\n", "steps"),
        ("", "3 * loader.__len__()"),
        ("import pandas\nframe = pandas.read_csv('rows.csv')\n", "frame.shape[0] // 8"),
        ("", "data.num_rows // 8"),
    ],
)
def test_a_length_of_rows_is_found_wherever_it_is_kept(setup: str, length: str) -> None:
    outcome = made_with(setup, length)
    assert PREPARED in outcome.text
    assert not any(SHORT in message for message in outcome.messages)


@pytest.mark.parametrize(
    ("setup", "length"),
    [
        ("", "args.steps"),
        ("plan = {'steps': 500, 'rows': len(data)}\n", "plan['steps']"),
        ("args.rows = len(loader)\n", "args.steps"),
    ],
)
def test_a_length_that_is_given_counts_the_steps_of_all_processes(setup: str, length: str) -> None:
    outcome = made_with(setup, length)
    assert PREPARED not in outcome.text
    assert any("it counts optimizer steps" in message for message in outcome.messages)


OF_WORDS = HEAD.replace("nn.Linear(4, 2)", "nn.Linear(len(data.words), 2)")


@pytest.mark.parametrize(
    "given", ["optimizer, 0, 500", "num_training_steps=500, num_warmup_steps=0, optimizer=optimizer"]
)
def test_the_lengths_of_which_a_model_is_made_are_none_of_a_schedule(given: str) -> None:
    outcome = accelerated(scheduled(f"{WARMUP}({given})"), LOOP, BATCH, head=OF_WORDS)
    assert PREPARED not in outcome.text
    assert any("it counts optimizer steps" in message for message in outcome.messages)


@pytest.mark.parametrize("kept", ["optimizer", "optim"])
def test_nor_are_they_where_another_file_makes_it(tmp_path: Path, kept: str) -> None:
    helper = f"def make({kept}, model):\n    return {WARMUP}({kept}, 0, 500)\n"
    script = f"{OF_WORDS}from schedules import make\nscheduler = make(optimizer, model)\n{LOOP}{BATCH}"
    after, messages = project(tmp_path, main=script, schedules=SCHEDULES + helper)
    assert PREPARED not in after["main"]
    assert any("it counts optimizer steps" in message for message in messages)


@pytest.mark.parametrize(
    ("setup", "length", "given"),
    [
        ("if args.steps is None:\n    args.steps = 3 * len(loader)\n", "args.steps", "args.steps"),
        ("if args.steps is None:\n    args.steps = len(loader)\n", "args.steps * 2", "args.steps"),
        ("steps = args.steps if args.steps > 0 else len(loader)\n", "steps", "args.steps"),
        ("if args.most > 0:\n    steps = args.most\nelse:\n    steps = len(loader)\n", "steps", "args.most"),
        ("", "args.steps or len(loader)", "args.steps"),
    ],
)
def test_a_length_that_somebody_may_give_instead_is_told(setup: str, length: str, given: str) -> None:
    outcome = made_with(setup, length)
    assert PREPARED in outcome.text
    [message] = [message for message in outcome.messages if SHORT in message]
    assert f"`{given}`" in message
    assert len(outcome.lines("RM858", Kind.NOTE)) >= 1


@pytest.mark.parametrize(
    ("helper", "made"),
    [
        (
            f"def make(optimizer, total):\n    return {WARMUP}(optimizer, 0, total)\n",
            "make(optimizer, 3 * len(loader))",
        ),
        (f"def make(optimizer, rows):\n    return {WARMUP}(optimizer, 0, len(rows))\n", "make(optimizer, loader)"),
    ],
)
def test_a_schedule_that_another_file_makes(tmp_path: Path, helper: str, made: str) -> None:
    script = f"{HEAD}from schedules import make\nscheduler = {made}\n{LOOP}{BATCH}"
    after, _ = project(tmp_path, main=script, schedules=SCHEDULES + helper)
    assert PREPARED in after["main"]


def test_a_schedule_of_steps_that_another_file_makes(tmp_path: Path) -> None:
    helper = f"def make(optimizer):\n    return {WARMUP}(optimizer, 0, 500)\n"
    script = f"{HEAD}from schedules import make\nscheduler = make(optimizer)\n{LOOP}{BATCH}"
    after, messages = project(tmp_path, main=script, schedules=SCHEDULES + helper)
    assert "accelerator.prepare(" in after["main"]
    assert PREPARED not in after["main"]
    assert any("it counts optimizer steps" in message for message in messages)


def test_a_length_that_another_file_keeps_in_the_options(tmp_path: Path) -> None:
    helper = "def fill(args, loader):\n    args.steps = 3 * len(loader)\n"
    made = f"{ARGS}from lengths import fill\nfill(args, loader)\n{scheduled(f'{WARMUP}(optimizer, 0, args.steps)')}"
    after, _ = project(tmp_path, main=f"{HEAD}{made}{LOOP}{BATCH}", lengths=helper)
    assert PREPARED in after["main"]
