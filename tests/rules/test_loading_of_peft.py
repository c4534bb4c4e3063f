"""RM701, RM702 and RM751 for the classes of peft that load a model of transformers with its adapter."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import peft
from peft import AutoPeftModel, AutoPeftModelForCausalLM, PeftConfig, PeftModel
from ray.air import session
from transformers import BitsAndBytesConfig

session.report({"loss": 1.0})
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("AutoPeftModelForCausalLM.from_pretrained('m', load_in_4bit=True)", "BitsAndBytesConfig(load_in_4bit=True)"),
        ("peft.AutoPeftModelForSeq2SeqLM.from_pretrained('m', load_in_8bit=True)", "quantization_config="),
        ("peft.auto.AutoPeftModel.from_pretrained('m', use_auth_token=True)", "from_pretrained('m', token=True)"),
        ("AutoPeftModel.from_pretrained('m', resume_download=True)", "from_pretrained('m')"),
        ("AutoPeftModelForCausalLM.from_pretrained('m', use_flash_attention_2=True)", "attn_implementation="),
    ],
)
def test_they_hand_on_what_a_model_takes(old: str, new: str) -> None:
    outcome = converted(HEAD + f"m = {old}")
    assert new in outcome.text
    assert not [code for code, kind, _ in outcome.findings if kind is Kind.MANUAL]


def test_keys_of_a_dict_are_told() -> None:
    outcome = converted(HEAD + "m = AutoPeftModelForCausalLM.from_pretrained('m', **{'load_in_8bit': True})")
    assert outcome.lines("RM701", Kind.MANUAL) == [7]


def test_the_dtype_of_the_model_below_is_noted() -> None:
    assert converted(HEAD + "m = AutoPeftModelForCausalLM.from_pretrained('m')").lines("RM751", Kind.NOTE) == [7]
    given = converted(HEAD + "m = AutoPeftModelForCausalLM.from_pretrained('m', torch_dtype='auto')")
    assert not given.lines("RM751", Kind.NOTE)


@pytest.mark.parametrize(
    "script",
    [
        "m = PeftModel.from_pretrained(session, 'm', use_auth_token=True)",
        "m = PeftConfig.from_pretrained('m', use_auth_token=True)",
        "class AutoPeftModelForMine:\n    pass\n\n\nAutoPeftModelForMine.from_pretrained('m', load_in_4bit=True)",
        "m = AutoPeftModelForCausalLM.from_pretrained('m', quantization_config=BitsAndBytesConfig(load_in_4bit=True))",
    ],
)
def test_others_are_left_alone(script: str) -> None:
    found = converted(HEAD + script).findings
    assert not {code for code, kind, _ in found if kind is not Kind.NOTE} & {"RM701", "RM702"}
