"""RM705: return_tensors="tf" of tokenizers and processors."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from mine import Own
from ray.air import session
from transformers import AutoImageProcessor, AutoTokenizer, BertTokenizerFast

tokenizer = AutoTokenizer.from_pretrained("a/b")
images = AutoImageProcessor.from_pretrained("a/b")
KIND = "tf"


class Reader:
    def __init__(self):
        self.tokenizer = BertTokenizerFast("vocab.txt")

    def read(self, texts):
        return self.tokenizer(texts, return_tensors=KIND)


def train_func(texts, other):
    session.report({{"loss": 1.0}})
    return {call}
"""


def told(call: str) -> int:
    return len(converted(SCRIPT.format(call=call)).lines("RM705", Kind.MANUAL))


@pytest.mark.parametrize(
    "call",
    [
        'tokenizer(texts, return_tensors="tf")',
        'tokenizer.encode(texts, return_tensors="jax")',
        'tokenizer.pad(texts, return_tensors="tf")',
        'tokenizer.apply_chat_template(texts, return_tensors="tf")',
        'images(texts, return_tensors="tf")',
        'images.preprocess(texts, return_tensors="tf")',
    ],
)
def test_tensors_of_tensorflow_and_jax_are_told(call: str) -> None:
    assert told(call) == 2  # with that of Reader


@pytest.mark.parametrize(
    "call",
    [
        'tokenizer(texts, return_tensors="np")',
        'tokenizer(texts, return_tensors="pt")',
        "tokenizer(texts, return_tensors=other)",
        "tokenizer(texts, return_tensors=None)",
        'Own(texts, return_tensors="tf")',
        'Own.from_pretrained("a/b")(texts, return_tensors="tf")',
        'other(texts, return_tensors="tf")',
        '(tokenizer if other else Own())(texts, return_tensors="tf")',
    ],
)
def test_other_tensors_and_what_others_make_are_not(call: str) -> None:
    assert told(call) == 1


def test_a_script_that_is_prepared_is_not() -> None:
    tried = 'tokenizer(texts, return_tensors="np")'
    caught = '\n    try:\n        tokenizer(texts, return_tensors="tf")\n    except Exception:\n        pass\n'
    assert told(tried + caught) == 1
