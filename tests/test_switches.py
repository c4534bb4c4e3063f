"""A name at an argument may be a switch that its owner turns: converted code follows it, or a person is asked."""

import pytest

from raymigrate.base.findings import Kind
from raymigrate.run.engine import convert

HEAD = """
import ray
from accelerate import Accelerator
from ray.air import FailureConfig, RunConfig, ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import AutoModel, AutoTokenizer, Trainer, TrainingArguments

SWITCH = {value}
tokenizer = AutoTokenizer.from_pretrained("gpt2")
"""


@pytest.mark.parametrize("value", ["True", "False", "make()"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "TrainingArguments('out', group_by_length=SWITCH)",
            'TrainingArguments(\'out\', train_sampling_strategy="group_by_length" if SWITCH else "random")',
        ),
        (
            "TrainingArguments('out', include_inputs_for_metrics=SWITCH)",
            "TrainingArguments('out', include_for_metrics=[\"inputs\"] if SWITCH else [])",
        ),
        ("TrainingArguments('out', no_cuda=SWITCH)", "TrainingArguments('out', use_cpu=SWITCH)"),
        ("Accelerator(fp16=SWITCH)", 'Accelerator(mixed_precision="fp16" if SWITCH else None)'),
        (
            "AutoModel.from_pretrained('a', load_in_8bit=SWITCH)",
            "AutoModel.from_pretrained('a', quantization_config="
            "BitsAndBytesConfig(load_in_8bit=True) if SWITCH else None)",
        ),
        (
            "tokenizer('a', pad_to_max_length=SWITCH, max_length=8)",
            "tokenizer('a', padding=\"max_length\" if SWITCH else False, max_length=8, truncation=True)",
        ),
        ("tokenizer('a', pad_to_max_length=SWITCH)", "tokenizer('a', padding=SWITCH)"),
    ],
)
def test_a_switch_goes_on_to_decide(value: str, before: str, after: str) -> None:
    text = convert(HEAD.format(value=value) + before + "\n").after
    assert text is not None and after in text


@pytest.mark.parametrize(
    ("value", "before", "code"),
    [
        ("'adamw_hf'", "TrainingArguments('out', optim=SWITCH)", "RM705"),
        ("'adamw_hf' if x else 'sgd'", "TrainingArguments('out', optim=SWITCH)", "RM705"),
        ("False", "TrainingArguments('out', use_mps_device=SWITCH)", "RM702"),
        ("None", "RunConfig(stop=SWITCH)", "RM404"),
        ("{}", "RunConfig(stop=SWITCH)", "RM404"),
    ],
)
def test_a_switch_whose_value_has_no_place_is_left_to_its_owner(value: str, before: str, code: str) -> None:
    result = convert(HEAD.format(value=value) + before + "\n")
    assert before in (result.after or before)
    assert [finding.kind for finding in result.findings if finding.code == code] == [Kind.MANUAL]


def test_a_switch_for_failing_fast_is_taken_away_only_where_it_is_asked_for() -> None:
    result = convert(HEAD.format(value="False") + "FailureConfig(fail_fast=SWITCH)\n")
    assert [finding.kind for finding in result.findings if finding.code == "RM401"] == [Kind.UNSAFE]


@pytest.mark.parametrize(
    "before",
    [
        "TrainingArguments('out', group_by_length=True)",
        "TrainingArguments('out', optim='adamw_hf')",
        "TrainingArguments('out', use_mps_device=False)",
        "FailureConfig(fail_fast=False)",
        "RunConfig(stop=None)",
        "tokenizer('a', pad_to_max_length=True)",
    ],
)
def test_a_literal_is_no_switch(before: str) -> None:
    result = convert(HEAD.format(value="0") + before + "\n")
    assert {f.kind for f in result.findings if f.code in ("RM701", "RM702", "RM705", "RM401", "RM722")} == {
        Kind.CONVERTED
    }


KEYS = """
import ray.train
from transformers import Trainer, TrainingArguments

settings = {{
    "output_dir": "out",
    {entry},
}}
{more}
print(TrainingArguments({given}))
ray.train.report({{}})
"""


def keys(entry: str, more: str = "", given: str = "**settings") -> tuple[str, bool]:
    """What becomes of a script whose arguments come out of a dict, and whether a key was left to a person."""
    result = convert(KEYS.format(entry=entry, more=more, given=given))
    text = result.after or KEYS.format(entry=entry, more=more, given=given)
    return text, any(finding.code == "RM701" and finding.kind is Kind.MANUAL for finding in result.findings)


@pytest.mark.parametrize(
    ("entry", "after"),
    [
        ('"group_by_length": True', '"train_sampling_strategy": "group_by_length",'),
        ("'group_by_length': False", "'train_sampling_strategy': \"random\","),
        ('"group_by_length": on()', '"train_sampling_strategy": "group_by_length" if on() else "random",'),
        ('"include_inputs_for_metrics": True', '"include_for_metrics": ["inputs"],'),
    ],
)
def test_a_switch_in_a_dict_becomes_the_choice_that_it_was(entry: str, after: str) -> None:
    text, is_left = keys(entry)
    assert f"    {after}\n" in text and not is_left


@pytest.mark.parametrize(
    ("entry", "more", "given"),
    [
        ('"group_by_length": True', 'print(settings["group_by_length"])', "**settings"),
        ('"group_by_length": True', 'settings["group_by_length"] = False', "**settings"),
        ('"adafactor": True', "", "**settings"),  # an optim= beside it was in force where this was false
        ('"dispatch_batches": True', "", "**settings"),
        ('"group_by_length": True', "", '**settings, train_sampling_strategy="random"'),
    ],
)
def test_a_switch_that_else_depends_on_the_key_is_left(entry: str, more: str, given: str) -> None:
    text, is_left = keys(entry, more, given)
    assert entry in text and is_left
