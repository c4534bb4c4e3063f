"""RM705: a warmup_steps= below 1 that was written for transformers 4."""

import pytest

from tests.rules.scripts import converted

SCRIPT = """
from ray.air import session
from transformers import Seq2SeqTrainingArguments, TrainingArguments

SHARE = 0.06


def loop(config):
    args = {call}
    session.report({{"loss": 1.0}})
"""


@pytest.mark.parametrize(
    "call",
    [
        'TrainingArguments("out", evaluation_strategy="epoch", warmup_steps=0.1)',
        'TrainingArguments("out", overwrite_output_dir=True, warmup_steps=SHARE)',
        'Seq2SeqTrainingArguments("out", no_cuda=config["cpu"], warmup_steps=5e-2)',
        'TrainingArguments("out", **{"evaluation_strategy": "epoch", "warmup_steps": 0.1})',
        'TrainingArguments("out", evaluation_strategy="epoch", **dict(warmup_steps=0.1))',
        'TrainingArguments("out", no_cuda=config["cpu"], warmup_steps=0.1 if config["short"] else 500)',
    ],
)
def test_less_than_a_step_became_a_share(call: str) -> None:
    result = converted(SCRIPT.format(call=call))
    assert result.lines("RM705") == [8]
    assert not converted(result.text).lines("RM705")


@pytest.mark.parametrize(
    "call",
    [
        'TrainingArguments("out", evaluation_strategy="epoch", warmup_steps=100)',
        'TrainingArguments("out", evaluation_strategy="epoch", warmup_steps=0)',
        'TrainingArguments("out", evaluation_strategy="epoch", warmup_steps=1.0)',
        'TrainingArguments("out", eval_strategy="epoch", warmup_steps=0.1)',  # it may mean the share
        'TrainingArguments("out", evaluation_strategy="epoch", warmup_ratio=0.1)',
        'TrainingArguments("out", use_mps_device=config["mps"], warmup_steps=0.1)',  # which a conversion leaves
        'dict(evaluation_strategy="epoch", warmup_steps=0.1)',
    ],
)
def test_other_steps_are_left_alone(call: str) -> None:
    result = converted(SCRIPT.format(call=call))
    assert not result.lines("RM705")
    assert not converted(result.text).lines("RM705")
