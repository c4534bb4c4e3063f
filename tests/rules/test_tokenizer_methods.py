"""RM721, for tokenizers: methods that transformers 5 took from most classes, and that some still have."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import ray
import transformers
from elsewhere import Mixin, anything
from transformers import AutoTokenizer, BertTokenizer, BertTokenizerFast, CanineTokenizer, PreTrainedTokenizer
from transformers import CanineTokenizerFast, TapasTokenizer, WhisperTokenizer

{use}
"""
BUILD = "build_inputs_with_special_tokens([1])"


@pytest.mark.parametrize(
    "use",
    [
        f"CanineTokenizer.from_pretrained('a').{BUILD}",
        f"CanineTokenizerFast().{BUILD}",
        f"tokenizer = transformers.CanineTokenizer.from_pretrained('a')\ntokenizer.{BUILD}",
        f"class A:\n    t = CanineTokenizer()\n\n    def f(self):\n        self.t.{BUILD}",
        f"t = CanineTokenizer() if ray else WhisperTokenizer.from_pretrained('a')\nt.{BUILD}",
        f"class Own(PreTrainedTokenizer):\n    def f(self):\n        return self.{BUILD}",
        f"class A(Mixin, PreTrainedTokenizer):\n    pass\n\nclass B(A):\n    pass\n\nB('vocab.txt').{BUILD}",
        "TapasTokenizer.from_pretrained('a').encode_plus('text')",
        "CanineTokenizer.from_pretrained('a').truncate_sequences([1])",
    ],
)
def test_a_class_that_still_has_the_method_is_left_alone(use: str) -> None:
    outcome = converted(SCRIPT.format(use=use))
    assert not [code for code, _, _ in outcome.findings if code == "RM721"]


@pytest.mark.parametrize(
    "use",
    [
        f"BertTokenizer.from_pretrained('a').{BUILD}",
        f"BertTokenizerFast('vocab.txt').{BUILD}",
        f"class Own(BertTokenizer):\n    def f(self):\n        return self.{BUILD}",
        "WhisperTokenizer.from_pretrained('a').prepare_for_model([1])",
        "CanineTokenizer.from_pretrained('a').prepare_seq2seq_batch(['a'])",
    ],
)
def test_a_class_that_lost_the_method_is_told_for_sure(use: str) -> None:
    outcome = converted(SCRIPT.format(use=use))
    [message] = [m for (code, _, _), m in zip(outcome.findings, outcome.messages, strict=True) if code == "RM721"]
    assert "raises an AttributeError. " in message


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (f"AutoTokenizer.from_pretrained('a').{BUILD}", "AttributeError, unless its class is one of the few"),
        (f"t = BertTokenizer('a') if ray else CanineTokenizer()\nt.{BUILD}", "unless its class is one of the few"),
        (
            f"def f(t: PreTrainedTokenizer):\n    t.{BUILD}",
            "if this is a tokenizer, unless its class is one of the few",
        ),
        (f"AutoTokenizer.register\nanything.{BUILD}", "if this is a tokenizer, unless its class is one of the few"),
        (f"class Own(Mixin, BertTokenizer):\n    def f(self):\n        self.{BUILD}", "unless its class is one of"),
    ],
)
def test_a_class_that_is_not_seen_is_told_on_condition(use: str, says: str) -> None:
    outcome = converted(SCRIPT.format(use=use))
    [message] = [m for (code, _, _), m in zip(outcome.findings, outcome.messages, strict=True) if code == "RM721"]
    assert says in message
    assert outcome.lines("RM721", Kind.MANUAL)


@pytest.mark.parametrize(
    ("use", "after"),
    [
        ("t = AutoTokenizer.from_pretrained('a')\nprint(t._pad_token is None)", "print(t.pad_token is None)"),
        ("t = BertTokenizer.from_pretrained('a')\nt._pad_token = t._eos_token", "t.pad_token = t.eos_token"),
        ("print(AutoTokenizer.from_pretrained('a')._bos_token)", "print(AutoTokenizer.from_pretrained('a').bos_token)"),
    ],
)
def test_where_a_tokenizer_kept_a_special_token_its_property_takes_over(use: str, after: str) -> None:
    outcome = converted(SCRIPT.format(use=use))
    assert after in outcome.text
    assert outcome.lines("RM721", Kind.CONVERTED)
    assert not outcome.lines("RM721", Kind.MANUAL)


@pytest.mark.parametrize(
    ("use", "outcome"),
    [
        ("def f(t):\n    return t._mask_token", "reading it raises an AttributeError, if this is a tokenizer"),
        ("def f(t):\n    t._pad_token = 'x'", "what is stored there has no effect, if this is a tokenizer"),
        ("class Own(BertTokenizer):\n    def f(self):\n        return self._sep_token", "reading it raises"),
    ],
)
def test_it_is_told_where_a_tokenizer_is_not_seen(use: str, outcome: str) -> None:
    told = converted(SCRIPT.format(use=f"{use}\n\n\nprint(AutoTokenizer)"))
    assert len(told.lines("RM721", Kind.MANUAL)) == 1
    assert any(outcome in message for message in told.messages)


def test_a_class_of_the_file_keeps_its_own_special_tokens() -> None:
    use = "class Vocabulary:\n    def __init__(self):\n        self._pad_token = 0\n\n    def f(self):\n"
    use += "        return self._pad_token\n\n\nprint(Vocabulary()._pad_token, AutoTokenizer)"
    assert not [code for code, _, _ in converted(SCRIPT.format(use=use)).findings if code == "RM721"]


@pytest.mark.parametrize(
    ("use", "kind"),
    [
        ("BertTokenizer.from_pretrained('a')(words, is_pretokenized=True)", Kind.CONVERTED),
        ("t = AutoTokenizer.from_pretrained('a')\nt.encode_plus(words, is_pretokenized=ready)", Kind.CONVERTED),
        (
            "class A:\n    def __init__(self):\n        self.t = BertTokenizerFast()\n"
            "    def f(self, words):\n        return self.t(words, is_pretokenized=True)",
            Kind.CONVERTED,
        ),
        ("print(AutoTokenizer)\ndef f(t, words):\n    return t(words, is_pretokenized=True)", Kind.MANUAL),
    ],
)
def test_words_are_not_taken_for_texts(use: str, kind: Kind) -> None:
    outcome = converted(SCRIPT.format(use=use))
    assert len(outcome.lines("RM701", kind)) == 1
    assert ("is_split_into_words=" in outcome.text) is (kind is Kind.CONVERTED)


@pytest.mark.parametrize(
    "use",
    [
        "def cut(words, is_pretokenized):\n    print(AutoTokenizer, words)\ncut([1], is_pretokenized=True)",
        "BertTokenizer()([1], is_pretokenized=True, is_split_into_words=True)",
    ],
)
def test_other_arguments_of_that_name_stay(use: str) -> None:
    assert "RM701" not in [code for code, _, _ in converted(SCRIPT.format(use=use)).findings]


TARGETS = """def encode({parameter}, rows):
    with tok.as_target_tokenizer():
        labels = tok(rows["text"], truncation=True)
    return labels
"""


@pytest.mark.parametrize(
    ("use", "kind"),
    [
        (TARGETS.format(parameter="tok") + "encode(AutoTokenizer.from_pretrained('a'), 1)", Kind.CONVERTED),
        (TARGETS.format(parameter="tok") + "t = BertTokenizer('a')\nencode(rows=1, tok=t)", Kind.CONVERTED),
        (TARGETS.format(parameter="tok") + "encode(BertTokenizer('a'), 1)\nencode(anything, 1)", Kind.MANUAL),
        (TARGETS.format(parameter="tok") + "print(AutoTokenizer)", Kind.MANUAL),
    ],
)
def test_a_parameter_is_a_tokenizer_where_each_call_gives_one(use: str, kind: Kind) -> None:
    outcome = converted(SCRIPT.format(use=use))
    assert len(outcome.lines("RM721", kind)) == 1
    assert ('labels = tok(text_target=rows["text"], truncation=True)' in outcome.text) is (kind is Kind.CONVERTED)
    assert ("with tok.as_target_tokenizer():" in outcome.text) is (kind is Kind.MANUAL)


def test_all_that_is_read_as_targets_stays() -> None:
    lines = "".join(f"    part_{number} = tok(rows[{number}])\n" for number in range(30))
    text = converted(SCRIPT.format(use=f"tok = BertTokenizer('a')\nwith tok.as_target_tokenizer():\n{lines}")).text
    assert "with " not in text
    assert all(f"part_{number} = tok(text_target=rows[{number}])\n" in text for number in range(30))
