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


OWN = """
from ray.air import session
from transformers import AutoModelForCausalLM, AutoTokenizer


def loop(config):
    tokenizer = AutoTokenizer.from_pretrained({0})
    model = AutoModelForCausalLM.from_pretrained({1})
    {2}
    model.resize_token_embeddings({3})
    session.report({{"loss": 1.0}})
"""


@pytest.mark.parametrize(
    ("tokenizer", "model", "between", "size"),
    [
        ('"gpt2"', '"gpt2"', "tokenizer.pad_token = tokenizer.eos_token", "len(tokenizer)"),
        ('config["model"]', 'config["model"]', "size = len(tokenizer)", "size"),
        ('"gpt2", use_fast=True', '"gpt2"', "print(tokenizer('x', add_special_tokens=False))", "len(tokenizer)"),
        ('"gpt2"', '"gpt2"', 'tokenizer.add_tokens(["<a>"])', ""),
        ('"gpt2"', '"gpt2"', 'tokenizer.add_tokens(["<a>"])', "new_num_tokens=None"),
    ],
)
def test_where_no_token_is_added_no_row_is(tokenizer: str, model: str, between: str, size: str) -> None:
    outcome = converted(OWN.format(tokenizer, model, between, size))
    assert not any("resize_token_embeddings" in message for message in outcome.messages)


@pytest.mark.parametrize(
    ("tokenizer", "model", "between", "size"),
    [
        ('"gpt2", pad_token="<pad>"', '"gpt2"', "pass", "len(tokenizer)"),
        ('"gpt2", **config', '"gpt2"', "pass", "len(tokenizer)"),
        ('"bigger"', '"gpt2"', "pass", "len(tokenizer)"),
        ('"gpt2"', '"gpt2"', "tokenizer.pad_token = '<pad>'", "len(tokenizer)"),
        ('"gpt2"', '"gpt2"', "from job import add\n    add(tokenizer)", "len(tokenizer)"),
        ('"gpt2"', '"gpt2"', "from job import add\n    add([tokenizer])", "len(tokenizer)"),
        ('"gpt2"', '"gpt2"', "from job import add\n    add(**{'given': tokenizer})", "len(tokenizer)"),
        ('"gpt2"', '"gpt2"', "pass", "len(tokenizer), pad_to_multiple_of=8"),
        ('"gpt2"', '"gpt2"', "pass", "len(tokenizer) + 1"),
        ('"gpt2"', '"gpt2"', "setattr(tokenizer, config['name'], '<a>')", "len(tokenizer)"),
        ('"gpt2"', '"gpt2"', "tokenizer = config['tokenizer']", "len(tokenizer)"),
    ],
)
def test_where_one_may_be_it_is_noted(tokenizer: str, model: str, between: str, size: str) -> None:
    outcome = converted(OWN.format(tokenizer, model, between, size))
    assert any("resize_token_embeddings" in message for message in outcome.messages)


def test_a_name_that_is_bound_again_between_is_another_checkpoint() -> None:
    script = OWN.format("name", "name", "pass", "len(tokenizer)").replace(
        "    model =", "    name = config['b']\n    model ="
    )
    script = script.replace("    tokenizer =", "    name = config['a']\n    tokenizer =")
    assert any("resize_token_embeddings" in message for message in converted(script).messages)
