"""RM769: max_length= of processors that count the tokens of an image among those of the text."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import os

import transformers
from ray.air import session
from transformers import AutoProcessor, Blip2ForConditionalGeneration, Blip2Processor, InstructBlipProcessor
from transformers import LlavaForConditionalGeneration, LlavaProcessor

LENGTH = 40
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            'p = Blip2Processor.from_pretrained("b")\np(images=1, text=2, truncation=True, max_length=40)',
            "max_length=40 + p.num_query_tokens)",
        ),
        (
            'p = Blip2Processor.from_pretrained("b")\np(1, 2, padding="max_length", max_length=LENGTH)',
            "max_length=LENGTH + p.num_query_tokens)",
        ),
        (
            'p = transformers.Blip2Processor.from_pretrained("b")\n\n\ndef collate(rows):\n    return p(text=rows,'
            " max_length=8, return_tensors='pt')",
            "max_length=8 + p.num_query_tokens, return_tensors='pt')",
        ),
        (
            'class A:\n    def __init__(self):\n        self.p = Blip2Processor.from_pretrained("b")\n\n'
            "    def f(self):\n        return self.p(1, 2, max_length=20)",
            "self.p(1, 2, max_length=20 + self.p.num_query_tokens)",
        ),
    ],
)
def test_texts_of_blip_are_cut_where_they_were(before: str, after: str) -> None:
    outcome = converted(HEAD + before)
    assert after in outcome.text and len(outcome.lines("RM769", Kind.CONVERTED)) == 1
    assert not [code for code, _, _ in converted(outcome.text).findings if code == "RM769"]


def test_the_processor_of_a_model_is_found_by_the_model_beside_it() -> None:
    script = (
        HEAD + 'p = AutoProcessor.from_pretrained("b")\np(1, 2, max_length=40)\nprint(Blip2ForConditionalGeneration)'
    )
    alone = script.replace("from transformers import LlavaForConditionalGeneration, LlavaProcessor\n", "")
    assert "max_length=40 + p.num_query_tokens" in converted(alone).text


@pytest.mark.parametrize(
    "use",
    [
        'p = Blip2Processor.from_pretrained("b")\np(1, 2, max_length=int(os.environ["LENGTH"]))',
        'Blip2Processor.from_pretrained("b")(1, 2, max_length=40)',
        'p = InstructBlipProcessor.from_pretrained("b")\np(1, 2, max_length=40)',
        'p = LlavaProcessor.from_pretrained("b")\np(text=1, images=2, truncation=True, max_length=77)',
        'p = LlavaProcessor.from_pretrained("b")\np(1, 2, truncation="longest_first", max_length=LENGTH)',
        'p = transformers.LlavaNextProcessor.from_pretrained("b")\np(1, 2, truncation=True, max_length=LENGTH)',
    ],
)
def test_others_are_told(use: str) -> None:
    outcome = converted(HEAD + use)
    assert outcome.text.endswith(use) and len(outcome.lines("RM769", Kind.MANUAL)) == 1


@pytest.mark.parametrize(
    "script",
    [
        HEAD + 'p = Blip2Processor.from_pretrained("b")\np(images=1, text=2, truncation=True)',
        HEAD + 'p = Blip2Processor.from_pretrained("b")\np(1, 2, max_length=None)',
        HEAD + 'p = Blip2Processor.from_pretrained("b")\np(1, 2, max_length=40 + p.num_query_tokens)',
        HEAD + 'p = Blip2Processor.from_pretrained("b")\np.tokenizer(2, max_length=40)',
        HEAD + 'p = LlavaProcessor.from_pretrained("b")\np(1, 2, padding="max_length", max_length=40)',
        HEAD + 'p = LlavaProcessor.from_pretrained("b")\np(1, 2, truncation=False, max_length=40)',
        HEAD + 'p = transformers.BlipProcessor.from_pretrained("b")\np(1, 2, max_length=40, truncation=True)',
        HEAD + 'p = transformers.CLIPProcessor.from_pretrained("b")\np(1, 2, max_length=77, truncation=True)',
        HEAD + 'p = AutoProcessor.from_pretrained("b")\np(1, 2, max_length=77, truncation=True)',
        HEAD + "def f(p):\n    return p(1, 2, max_length=40)",
        HEAD.replace("ray.air", "ray.train") + 'p = Blip2Processor.from_pretrained("b")\np(1, 2, max_length=40)',
    ],
)
def test_what_counts_as_before_is_left_alone(script: str) -> None:
    outcome = converted(script)
    assert not [code for code, _, _ in outcome.findings if code == "RM769"]
