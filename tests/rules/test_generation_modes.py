"""RM774: ways of generating that are gone."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import torch
from ray.air import session
from transformers import AutoModelForCausalLM


def loop(config):
    {made}
    model.generate(inputs, {arguments})
    session.report({{"loss": 1.0}})
"""
MODEL = 'model = AutoModelForCausalLM.from_pretrained("gpt2")'


@pytest.mark.parametrize(
    "arguments",
    [
        "penalty_alpha=0.6",
        "penalty_alpha=0.6, top_k=4, do_sample=False",
        "**inputs, penalty_alpha=0.6",
        "num_beams=4, num_beam_groups=2",
        "num_beams=beams(), num_beam_groups=2",
        "num_beams=3, force_words_ids=[[1]]",
        "num_beams=3, constraints=[made()]",
        'dola_layers="high", do_sample=True',
    ],
)
def test_a_way_that_is_gone_is_reported(arguments: str) -> None:
    outcome = converted(SCRIPT.format(made=MODEL, arguments=arguments))
    assert len(outcome.lines("RM774", Kind.MANUAL)) == 1
    assert f"model.generate(inputs, {arguments})" in outcome.text


@pytest.mark.parametrize(
    "arguments",
    [
        "penalty_alpha=0.6, top_k=1",
        "penalty_alpha=0.6, do_sample=True",
        "penalty_alpha=0.6, num_beams=2",
        "penalty_alpha=None",
        "num_beam_groups=2",
        "num_beams=4, num_beam_groups=1",
        "num_beams=4, num_beam_groups=groups()",
        "num_beams=3, constraints=None",
        'num_beams=2, dola_layers="high"',
        "penalty_alpha=0.6, generation_config=config",
        "penalty_alpha=0.6, custom_generate=search",
        "num_beams=4, do_sample=True",
    ],
)
def test_a_call_that_does_not_ask_for_one_is_left(arguments: str) -> None:
    assert not converted(SCRIPT.format(made=MODEL, arguments=arguments)).lines("RM774")


def test_something_else_with_such_a_method_is_left() -> None:
    made = "class Own: ...\n    model = Own()"
    assert not converted(SCRIPT.format(made=made, arguments="penalty_alpha=0.6")).lines("RM774")
