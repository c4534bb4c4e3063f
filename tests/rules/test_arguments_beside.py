"""RM701, RM702: an argument of the old name and one of the new name in one call; what was in force of them stays."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import ray
from accelerate import Accelerator
from transformers import TrainingArguments

def load(args):
    return {call}
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("warmup_ratio=0.1, warmup_steps=0", "warmup_steps=0.1"),
        ("warmup_steps=0, warmup_ratio=args.ratio", "warmup_steps=args.ratio"),
        ("warmup_ratio=0.1, warmup_steps=50", "warmup_steps=50"),
        ("warmup_ratio=0.0, warmup_steps=args.steps", "warmup_steps=args.steps"),
        ("warmup_ratio=args.ratio, warmup_steps=args.steps", "warmup_steps=args.steps or args.ratio"),
        ("adafactor=True, optim='adamw_torch'", 'optim="adafactor"'),
        ("adafactor=False, optim='adamw_torch'", "optim='adamw_torch'"),
        ("adafactor=args.a, optim=args.b", 'optim="adafactor" if args.a else args.b'),
        ("per_gpu_train_batch_size=8, per_device_train_batch_size=4", "per_device_train_batch_size=8"),
        ("per_gpu_eval_batch_size=args.a, per_device_eval_batch_size=4", "per_device_eval_batch_size=args.a or 4"),
    ],
)
def test_of_two_training_arguments_the_one_in_force_stays(before: str, after: str) -> None:
    call = "TrainingArguments('out', {})"
    assert call.format(after) in converted(SCRIPT.format(call=call.format(before))).text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("fp16=True, mixed_precision='no'", 'mixed_precision="fp16"'),
        ("mixed_precision=args.a, fp16=args.b", 'mixed_precision="fp16" if args.b else args.a'),
    ],
)
def test_of_two_arguments_of_an_accelerator_too(before: str, after: str) -> None:
    assert f"Accelerator({after})" in converted(SCRIPT.format(call=f"Accelerator({before})")).text


def test_two_that_are_parts_of_one_are_for_a_person() -> None:
    call = "TrainingArguments('out', dispatch_batches=args.a, split_batches=True)"
    outcome = converted(SCRIPT.format(call=call))
    assert outcome.lines("RM701", Kind.MANUAL) == [6, 6]
    assert call in outcome.text


def test_a_key_whose_new_name_is_there_too_is_for_a_person() -> None:
    call = "TrainingArguments(**{'output_dir': 'out', 'warmup_ratio': 0.1, 'warmup_steps': 0})"
    outcome = converted(SCRIPT.format(call=call))
    assert outcome.lines("RM701", Kind.MANUAL) == [6]
    assert call in outcome.text
