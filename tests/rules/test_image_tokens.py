"""RM764: texts for BLIP-2."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import transformers
from ray.air import session
from transformers import AutoProcessor, Blip2ForConditionalGeneration, Blip2Processor

model = Blip2ForConditionalGeneration.from_pretrained("b", dtype="auto")
"""


@pytest.mark.parametrize(
    "use",
    [
        'p = Blip2Processor.from_pretrained("b")\np.tokenizer(["a"])',
        'p = AutoProcessor.from_pretrained("b")\nx = p.tokenizer(["a"], return_tensors="pt")',
        'p = transformers.InstructBlipProcessor.from_pretrained("b")\nx = p.tokenizer("a").input_ids',
        'p = AutoProcessor.from_pretrained("b")\n\n\ndef collate(rows):\n    return p.tokenizer(rows)',
        'class A:\n    def __init__(self):\n        self.p = Blip2Processor.from_pretrained("b")\n\n'
        "    def f(self):\n        return self.p.tokenizer(1)",
    ],
)
def test_texts_of_the_tokenizer_alone_are_told(use: str) -> None:
    assert len(converted(HEAD + use).lines("RM764", Kind.MANUAL)) == 1


@pytest.mark.parametrize(
    "script",
    [
        HEAD + 'p = Blip2Processor.from_pretrained("b")\np(images=1, text=2)',
        HEAD + 'p = Blip2Processor.from_pretrained("b")\np.tokenizer.decode([1])',
        HEAD + "def f(p):\n    return p.tokenizer(1)",
        HEAD.replace("Blip2For", "BlipFor") + 'p = AutoProcessor.from_pretrained("b")\np.tokenizer(1)',
        HEAD.replace("Blip2ForConditionalGeneration", "Blip2QFormerModel")
        + 'p = AutoProcessor.from_pretrained("b")\np.tokenizer(1)',
    ],
)
def test_others_are_left_alone(script: str) -> None:
    assert not {code for code, _, _ in converted(script).findings} & {"RM764"}
