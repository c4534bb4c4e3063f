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


ALONE = HEAD.replace("from transformers import LlavaForConditionalGeneration, LlavaProcessor\n", "")
CAPTIONS = 'Blip2ForConditionalGeneration.from_pretrained("Salesforce/blip2-opt-2.7b")\n'
CUT = "\np(1, 2, truncation=True, max_length=40)"


@pytest.mark.parametrize(
    "code",
    [
        'm = Blip2ForConditionalGeneration.from_pretrained("b")\np = AutoProcessor.from_pretrained("b")',
        'N = "b"\nm = Blip2ForConditionalGeneration.from_pretrained(N)\np = AutoProcessor.from_pretrained("b")',
        'n = os.environ["N"]\nm = Blip2ForConditionalGeneration.from_pretrained(n)\n'
        "p = AutoProcessor.from_pretrained(n)",
        "def f(a):\n    global p\n    m = Blip2ForConditionalGeneration.from_pretrained(a.model)\n"
        "    p = AutoProcessor.from_pretrained(pretrained_model_name_or_path=a.model)\n",
        f'm = {CAPTIONS}c = transformers.CLIPModel.from_pretrained("c")\n'
        'p = AutoProcessor.from_pretrained("Salesforce/blip2-opt-2.7b")',
        "m = transformers.Blip2Model.from_pretrained('b')\nm = Blip2ForConditionalGeneration.from_pretrained('b')\n"
        "p = AutoProcessor.from_pretrained('b')",
    ],
)
def test_the_processor_of_a_model_is_found_by_the_checkpoint_of_both(code: str) -> None:
    assert "max_length=40 + p.num_query_tokens" in converted(ALONE + code + CUT).text


@pytest.mark.parametrize(
    "code",
    [
        'p = AutoProcessor.from_pretrained("b")\nprint(Blip2ForConditionalGeneration)',
        f'm = {CAPTIONS}p = AutoProcessor.from_pretrained(os.environ["P"])',
        'm = Blip2ForConditionalGeneration.from_pretrained(os.environ["M"])\np = AutoProcessor.from_pretrained("b")',
        f'm = {CAPTIONS}p = AutoProcessor.from_pretrained("Salesforce/blip2-opt-6.7b")',
        'm = LlavaForConditionalGeneration.from_pretrained("./out")\np = AutoProcessor.from_pretrained("llava")',
    ],
)
def test_a_processor_that_may_be_that_of_the_model_is_told_as_such(code: str) -> None:
    head = HEAD if "Llava" in code else ALONE
    outcome = converted(head + code + CUT)
    [message] = [m for (rule, _, _), m in zip(outcome.findings, outcome.messages, strict=True) if rule == "RM769"]
    assert message.startswith("Where this is a processor of ") and outcome.text.endswith(CUT)


@pytest.mark.parametrize(
    "code",
    [
        f'm = {CAPTIONS}p = AutoProcessor.from_pretrained("openai/clip-vit-base-patch32")',
        f'm = {CAPTIONS}n = os.environ["N"]\nc = transformers.CLIPModel.from_pretrained(n)\n'
        "p = AutoProcessor.from_pretrained(n)",
        'm = LlavaForConditionalGeneration.from_pretrained("x")\n'
        'p = AutoProcessor.from_pretrained("openai/whisper-tiny")',
    ],
)
def test_the_processor_of_another_model_is_left_alone(code: str) -> None:
    assert not [rule for rule, _, _ in converted(HEAD + code + CUT).findings if rule == "RM769"]


@pytest.mark.parametrize(
    "made",
    [
        "Blip2Processor(1, 2)",
        "Blip2Processor(1, 2, num_query_tokens=None)",
        "Blip2Processor(1, 2, num_query_tokens=m.config.num_query_tokens)",
        'Blip2Processor.from_pretrained("b", num_query_tokens=None)',
        'Blip2Processor.from_pretrained("b", **k)',
    ],
)
def test_a_processor_that_may_have_no_number_of_image_tokens_is_told(made: str) -> None:
    outcome = converted(f"{HEAD}p = {made}{CUT}")
    assert outcome.text.endswith(CUT) and outcome.lines("RM769", Kind.MANUAL)
    assert any("it may be that num_query_tokens of this processor is None" in message for message in outcome.messages)


@pytest.mark.parametrize("made", ["(1, 2, 32)", "(1, 2, num_query_tokens=32)", '.from_pretrained("b", use_fast=True)'])
def test_one_that_has_it_is_converted(made: str) -> None:
    assert "max_length=40 + p.num_query_tokens" in converted(f"{HEAD}p = Blip2Processor{made}{CUT}").text


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
