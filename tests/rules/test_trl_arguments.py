"""RM701, RM702, RM705 and RM723 for what trl makes from TrainingArguments."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import ray
import trl
from elsewhere import ratio
from transformers import HfArgumentParser
from trl import DPOConfig, GRPOConfig, ModelConfig, SFTConfig, SFTTrainer, TrlParser

"""
SFT = "args, _ = TrlParser((SFTConfig, ModelConfig)).parse_args_and_config()\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SFTConfig('x', warmup_ratio=0.03)", "SFTConfig('x', warmup_steps=0.03)"),
        ("trl.SFTConfig('x', warmup_ratio=ratio)", "trl.SFTConfig('x', warmup_steps=ratio)"),
        ("SFTConfig('x', max_seq_length=9)", "SFTConfig('x', max_length=9)"),
        ("SFTConfig('x', max_seq_length=9, max_length=4)", "SFTConfig('x', max_length=9)"),
        ("SFTConfig('x', use_liger=True)", "SFTConfig('x', use_liger_kernel=True)"),
        ("DPOConfig('x', evaluation_strategy='no')", "DPOConfig('x', eval_strategy='no')"),
        ("GRPOConfig('x', overwrite_output_dir=True)", "GRPOConfig('x')"),
        ("SFTConfig('x', group_by_length=True)", "SFTConfig('x', train_sampling_strategy=\"group_by_length\")"),
        ("SFTConfig('x', optim='adamw_hf')", "SFTConfig('x', optim=\"adamw_torch\")"),
    ],
)
def test_a_configuration_lost_what_training_arguments_lost(old: str, new: str) -> None:
    old, new = (text.replace("'x'", "'x', report_to='none'") for text in (old, new))  # else RM753 speaks of it
    outcome = converted(HEAD + f"args = {old}")
    assert f"args = {new}" in outcome.text
    assert {kind for _, kind, _ in outcome.findings} == {Kind.CONVERTED}


def test_a_length_of_none_is_left_to_a_person() -> None:
    outcome = converted(HEAD + "args = SFTConfig('x', max_seq_length=None)")
    assert outcome.lines("RM701", Kind.MANUAL) == [7] and "max_seq_length=None" in outcome.text


@pytest.mark.parametrize(
    "use",
    [
        SFT + "print(args.max_seq_length)",
        SFT + "print(args.use_liger)",
        "args = SFTConfig('x')\nprint(args.max_seq_length)",
        "args, _ = HfArgumentParser((SFTConfig, ModelConfig)).parse_args_into_dataclasses()\nargs.use_liger",
        "def main(args):\n    return args.max_seq_length\n\n\n" + SFT + "main(args)",
    ],
)
def test_what_is_read_has_its_name_of_today(use: str) -> None:
    outcome = converted(HEAD + use)
    assert [kind for code, kind, _ in outcome.findings if code == "RM723"] == [Kind.CONVERTED]
    assert "max_seq_length" not in outcome.text and "use_liger" not in outcome.text.replace("use_liger_kernel", "")


def test_a_ratio_is_told_where_it_is_now() -> None:
    outcome = converted(HEAD + SFT + "print(args.warmup_ratio)")
    assert outcome.lines("RM723", Kind.MANUAL) == [8]
    assert any("warmup_steps of it holds the ratio" in message for message in outcome.messages)


@pytest.mark.parametrize(
    "use",
    [
        "args = SFTConfig('x', max_length=9, use_liger_kernel=True, warmup_steps=0.1)",
        "args = dict(max_seq_length=9, warmup_ratio=0.1)",
        "def SFT(warmup_ratio):\n    pass\n\n\nSFT(warmup_ratio=0.1)",
        "import argparse\n\nargs = argparse.Namespace(max_seq_length=9)\nprint(args.max_seq_length)",
        "try:\n    args = SFTConfig('x', max_seq_length=9)\nexcept TypeError:\n    args = SFTConfig('x', max_length=9)",
        "def f(args):\n    return args.max_seq_length",
    ],
)
def test_others_are_left_alone(use: str) -> None:
    assert not converted(HEAD + use).findings
