"""RM751 for resize_token_embeddings(): how the rows of added tokens begin."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from ray.air import session
from transformers import AutoModelForCausalLM, AutoTokenizer


def loop(config):
    tokenizer = AutoTokenizer.from_pretrained("gpt2")
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    tokenizer.add_special_tokens({{"pad_token": "[PAD]"}})
    model{of}.resize_token_embeddings({arguments})
    session.report({{"loss": 1.0}})
"""
SIZES = ["len(tokenizer)", "new_num_tokens=50258", "len(tokenizer), pad_to_multiple_of=8", "len(tokenizer), 8"]


@pytest.mark.parametrize("arguments", SIZES)
@pytest.mark.parametrize("of", ["", ".base_model"])
def test_rows_that_begin_otherwise_are_noted(arguments: str, of: str) -> None:
    outcome = converted(SCRIPT.format(arguments=arguments, of=of))
    assert outcome.lines("RM751", Kind.NOTE) == [9]
    assert any("mean_resizing=False here keeps that" in message for message in outcome.messages)


@pytest.mark.parametrize("arguments", SIZES)
def test_they_begin_as_before_where_numerics_are_frozen(arguments: str) -> None:
    outcome = converted(SCRIPT.format(arguments=arguments, of=""), freeze_numerics=True)
    assert f"model.resize_token_embeddings({arguments}, mean_resizing=False)" in outcome.text


@pytest.mark.parametrize("arguments", ["9, mean_resizing=False", "9, None, False", "**config"])
def test_what_is_said_is_left(arguments: str) -> None:
    assert not converted(SCRIPT.format(arguments=arguments, of="")).lines("RM751", Kind.NOTE)


def test_a_script_of_current_ray_is_left() -> None:
    script = SCRIPT.replace("ray.air import session", "ray import train as session").format(arguments="9", of="")
    assert not converted(script).lines("RM751", Kind.NOTE)
