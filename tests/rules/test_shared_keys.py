"""RM701, RM702: keys of a dict that TrainingArguments are not alone to unpack."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome, converted

SCRIPT = """
import functools
import ray.train
from transformers import HfArgumentParser, Seq2SeqTrainingArguments, Trainer, TrainingArguments
from job import given, make


class Own:
    def __init__(self, evaluation_strategy=None, **others):
        self.evaluation_strategy = evaluation_strategy


class Mine(TrainingArguments):
    pass


KEYS = {keys}
{code}
Trainer(make(), args).train()
ray.train.report({{}})
"""
WRITTEN = ('{"output_dir": "o", "evaluation_strategy": "epoch"}', "dict(output_dir='o', evaluation_strategy='epoch')")
ARGUMENTS = "args = TrainingArguments(**KEYS)"


def outcome(code: str, keys: str) -> Outcome:
    return converted(SCRIPT.format(code=code, keys=keys))


@pytest.mark.parametrize("keys", WRITTEN)
@pytest.mark.parametrize(
    "code",
    [
        f"own = Own(**KEYS)\n{ARGUMENTS}",
        f"{ARGUMENTS}\ngiven(**KEYS, more=1)",
        f"{ARGUMENTS}\nmake_own = functools.partial(Own, **KEYS)",
        f"{ARGUMENTS}\nown = Own(**{{**KEYS, 'more': 1}})",
        f"{ARGUMENTS}\ndef hand(**more):\n    return Own(**more)\nhand(**KEYS)",
        f"{ARGUMENTS}\ndef hand(eval_strategy=None, **more):\n    return eval_strategy\nhand(**KEYS)",
        "args, = HfArgumentParser(TrainingArguments).parse_dict(KEYS)\nOwn(**KEYS)\nTrainingArguments(past_index=1)",
        "args = Mine(**KEYS)\nOwn(**KEYS)",
    ],
)
def test_a_key_that_other_calls_get_too_is_told(code: str, keys: str) -> None:
    found = outcome(code, keys)
    assert keys in found.text
    assert found.lines("RM701", Kind.MANUAL) == [16] and not found.lines("RM701", Kind.CONVERTED)


@pytest.mark.parametrize("keys", WRITTEN)
@pytest.mark.parametrize(
    "code",
    [
        ARGUMENTS,
        f"{ARGUMENTS}\nothers = Seq2SeqTrainingArguments(**KEYS)",
        f"{ARGUMENTS}\nown = Mine(**KEYS)",
        f"{ARGUMENTS}\nmake_others = functools.partial(TrainingArguments, **KEYS)",
        f"{ARGUMENTS}\nMORE = dict(**KEYS)\nprint(MORE)",
        f"{ARGUMENTS}\nMORE = {{}}\nMORE.update(**KEYS)\nprint(MORE)",
        f"{ARGUMENTS}\nOTHERS = {{'evaluation_strategy': 1}}\nown = Own(**OTHERS)",
        f"{ARGUMENTS}\ndef hand(**more):\n    return TrainingArguments(**more)\nhand(**KEYS)",
    ],
)
def test_a_key_that_only_such_arguments_get_is_changed(code: str, keys: str) -> None:
    found = outcome(code, keys)
    assert keys.replace("evaluation_strategy", "eval_strategy") in found.text
    assert not found.lines("RM701", Kind.MANUAL)


def test_what_reads_a_key_that_stays_reads_it_still() -> None:
    found = outcome(f"{ARGUMENTS}\nOwn(**KEYS)\nprint(KEYS['evaluation_strategy'])", WRITTEN[0])
    assert "print(KEYS['evaluation_strategy'])" in found.text
