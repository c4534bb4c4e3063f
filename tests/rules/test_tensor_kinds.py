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


COLLATES = """
import transformers
from mine import DataCollatorOfMine
from ray.air import session
from transformers import DataCollatorForSeq2Seq, DataCollatorWithPadding, DefaultDataCollator, default_data_collator
from transformers.data.data_collator import DataCollatorForLanguageModeling as Masks

OPTIONS = {{"return_tensors": "tf", "padding": True}}


class Plain(DataCollatorWithPadding):
    pass


class HandsOn(DataCollatorWithPadding):
    def __init__(self, number, *args, **kwargs):
        super().__init__(*args, **kwargs)


class Keeps(DataCollatorWithPadding):
    def __init__(self, tokenizer, return_tensors="np"):
        super().__init__(tokenizer)
        self.kind = return_tensors


class Own(DataCollatorWithPadding):
    def __call__(self, features):
        return rows(features)


class Counts(DataCollatorWithPadding):
    def __call__(self, features):
        return super().__call__(features[:2])


def train_func(tokenizer, rows):
    session.report({{"loss": 1.0}})
    return {call}
"""


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('DataCollatorWithPadding(tokenizer, return_tensors="tf")', "raises a ValueError at its first batch"),
        ('DataCollatorForSeq2Seq(tokenizer, return_tensors="jax")', "raises a ValueError at its first batch"),
        ('Masks(tokenizer, return_tensors="tf")', "raises a ValueError at its first batch"),
        ('transformers.DataCollatorWithPadding(tokenizer, return_tensors="tf")', "raises a ValueError at its first"),
        ('default_data_collator(rows, return_tensors="tf")', "default_data_collator gives None today"),
        ('DefaultDataCollator(return_tensors="tf")', "DefaultDataCollator gives None today"),
        ('DataCollatorWithPadding(tokenizer, True, None, None, "tf")', "raises a ValueError at its first batch"),
        ('default_data_collator(rows, "tf")', "default_data_collator gives None today"),
        ('DefaultDataCollator("tf")', "DefaultDataCollator gives None today"),
        ("DataCollatorWithPadding(tokenizer, **OPTIONS)", "raises a ValueError at its first batch"),
        ('Plain(tokenizer, return_tensors="tf")', "raises a ValueError at its first batch"),
        ('Plain(tokenizer, True, None, None, "tf")', "raises a ValueError at its first batch"),
        ('HandsOn(3, tokenizer, return_tensors="tf")', "raises a ValueError at its first batch"),
        ('Counts(tokenizer, return_tensors="tf")', "raises a ValueError at its first batch"),
    ],
)
def test_a_collator_makes_none_of_them_either(call: str, message: str) -> None:
    outcome = converted(COLLATES.format(call=call))
    assert len(outcome.lines("RM705", Kind.MANUAL)) == 1
    assert any(message in said for said in outcome.messages)


@pytest.mark.parametrize(
    "call",
    [
        'DataCollatorWithPadding(tokenizer, return_tensors="np")',
        "DataCollatorWithPadding(tokenizer)",
        'DataCollatorOfMine(tokenizer, return_tensors="tf")',
        'default_data_collator(rows, return_tensors="pt")',
        'DataCollatorWithPadding(tokenizer, True, "tf")',  # another argument
        'Keeps(tokenizer, return_tensors="tf")',
        'Own(tokenizer, return_tensors="tf")',
    ],
)
def test_other_collators_are_left_alone(call: str) -> None:
    assert not converted(COLLATES.format(call=call)).lines("RM705", Kind.MANUAL)


@pytest.mark.parametrize(
    "call",
    [
        'super().__init__(tokenizer, return_tensors="tf")',
        'DataCollatorWithPadding.__init__(self, tokenizer, 1, 2, 3, "tf")',
    ],
)
def test_a_class_that_asks_its_base_for_them_is_told_there(call: str) -> None:
    own = f"class Own(DataCollatorWithPadding):\n    def __init__(self, tokenizer):\n        {call}\n"
    outcome = converted(COLLATES.format(call="Own(tokenizer)") + own)
    assert len(outcome.lines("RM705", Kind.MANUAL)) == 1


def test_a_tokenizer_that_is_given_them_in_a_dict() -> None:
    assert told('tokenizer(texts, **{"return_tensors": "tf", "padding": True})') == 2
    assert told('tokenizer(texts, **{"return_tensors": "pt"})') == 1
    assert told("tokenizer(texts, **other)") == 1


@pytest.mark.parametrize(
    "call",
    [
        'functools.partial(tokenizer, padding=True, return_tensors="tf")',
        'functools.partial(tokenizer.pad, return_tensors="jax")(texts)',
        'functools.partial(DefaultDataCollator, return_tensors="tf")()',
        'functools.partial(DefaultDataCollator, "tf")()',
    ],
)
def test_a_partial_that_asks_for_them_is_told(call: str) -> None:
    assert told(f"{call}\n\n\nimport functools\nfrom transformers import DefaultDataCollator") == 2
    kind = call.replace('"tf"', '"np"').replace('"jax"', '"np"')
    assert told(f"{kind}\n\n\nimport functools\nfrom transformers import DefaultDataCollator") == 1


def test_one_of_several_values_is_told() -> None:
    assert told('tokenizer(texts, return_tensors="tf" if other else "pt")') == 2
    parser = "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--tensors', default='{}')"
    parsed = f"tokenizer(texts, return_tensors=args.tensors)\n\n\n{parser}\nargs = parser.parse_args()"
    assert told(parsed.format("tf")) == 2
    assert told(parsed.format("pt")) == 1


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("PreTrainedTokenizerBase", 2),
        ("'PreTrainedTokenizerBase'", 2),
        ("transformers.BertTokenizer | None", 2),
        ("Own", 1),
        ("transformers.PreTrainedModel", 1),
    ],
)
def test_an_annotation_says_what_a_parameter_is(kind: str, count: int) -> None:
    head = "import transformers\nfrom transformers import PreTrainedTokenizerBase"
    assert told(f'1\n\n\n{head}\ndef encode(one: {kind}):\n    return one("a", return_tensors="tf")') == count


def test_a_tokenizer_that_may_be_none_is_one_where_it_is_called() -> None:
    assert told('(tokenizer if texts else None)(texts, return_tensors="tf")') == 2
    assert told('(tokenizer if texts else other)(texts, return_tensors="tf")') == 1
