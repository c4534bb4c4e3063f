"""RM755: the tokens with which a model begins, ends and pads."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import transformers
from ray.air import session
from transformers import AutoModelForCausalLM, T5ForConditionalGeneration, VisionEncoderDecoderModel

"""
PAIR = 'm = VisionEncoderDecoderModel.from_encoder_decoder_pretrained("a", "b")\n'
T5 = 'm = T5ForConditionalGeneration.from_pretrained("t5")\n'
GPT2 = 'm = AutoModelForCausalLM.from_pretrained("gpt2")\n'
START = "m.config.decoder_start_token_id = 0\n"
IN_A_CLASS = """class A:
    def __init__(self):
        self.m = transformers.EncoderDecoderModel.from_pretrained("e")
        self.m.config.decoder_start_token_id = 0
"""


@pytest.mark.parametrize(
    ("script", "lines"),
    [
        (PAIR + START, [6]),
        (T5 + START, [6]),
        (PAIR + "m.config.eos_token_id = 2\n", [6]),
        (T5 + START + "m.config.pad_token_id = 0\n", [6, 7]),
        (PAIR + "m.config.pad_token_id = m.config.bos_token_id = 2\n", [6, 6]),
        (PAIR + "if session: m.config.pad_token_id = 2; print(m)\n", [6]),
        (PAIR + "m.to(0)\nm = m.to(0)\n" + START, [8]),
        (IN_A_CLASS, [8]),
    ],
)
def test_the_generation_config_of_an_encoder_decoder_gets_them_too(script: str, lines: list[int]) -> None:
    outcome = converted(HEAD + script)
    assert outcome.lines("RM755", Kind.CONVERTED) == lines
    assert outcome.text.count("m.generation_config.") == len(lines)
    assert not {code for code, _, _ in converted(outcome.text + "\nfrom ray import train").findings} & {"RM755"}


def test_what_stands_in_a_tuple_is_told() -> None:
    outcome = converted(HEAD + PAIR + "m.config.decoder_start_token_id, x = 0, 1")
    assert outcome.lines("RM755", Kind.MANUAL) == [6]


@pytest.mark.parametrize(
    "script",
    [
        GPT2 + "m.config.eos_token_id = 5\nm.generate(1)",
        GPT2 + "m.config.pad_token_id = 0\nm.generate(1)",
        T5 + "m.config.pad_token_id = 0\nm.config.num_beams = 3",
    ],
)
def test_what_a_checkpoint_may_say_itself_is_noted(script: str) -> None:
    outcome = converted(HEAD + script)
    assert outcome.lines("RM755", Kind.NOTE) == [6]


@pytest.mark.parametrize(
    "script",
    [
        GPT2 + "m.config.pad_token_id = m.config.eos_token_id\nm.generate(1)",
        GPT2 + "m.config.pad_token_id = 0",
        'm = transformers.BertForSequenceClassification.from_pretrained("b")\n' + START + "m.config.pad_token_id = 0",
        "class M:\n    config = None\n\n\nm = M()\n" + START,
        "def f(m):\n    m.config.decoder_start_token_id = 0",
        PAIR + "print(m.config.decoder_start_token_id)",
        PAIR + START + "m.generation_config.decoder_start_token_id = 0",
        PAIR + START + "m.generate(1, decoder_start_token_id=0)",
        PAIR + START + "m.generation_config = transformers.GenerationConfig(decoder_start_token_id=0)",
        PAIR + "m.config.decoder.is_decoder = True",
    ],
)
def test_others_are_left_alone(script: str) -> None:
    assert not {code for code, _, _ in converted(HEAD + script).findings} & {"RM755"}
