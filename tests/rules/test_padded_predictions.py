"""RM752: predictions of a Seq2SeqTrainer that are decoded as they are; they hold -100 today."""

from textwrap import dedent, indent

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome, converted

SCRIPT = """
import numpy as np
import ray
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, Seq2SeqTrainer, Seq2SeqTrainingArguments

tokenizer = AutoTokenizer.from_pretrained("t5-small")


{metrics}


def build(train_dataset, eval_dataset=None, **config):
    model = AutoModelForSeq2SeqLM.from_pretrained("t5-small")
    args = Seq2SeqTrainingArguments("out", predict_with_generate=True, generation_max_length=64)
    return Seq2SeqTrainer(model=model, args=args, train_dataset=train_dataset, compute_metrics={given})
"""
FILLED = "np.where({0} != -100, {0}, tokenizer.pad_token_id)"
DECODED = {
    "unpacked": ("preds, labels = p", "preds"),
    "unpacked into a list": ("[preds, labels] = p", "preds"),
    "an attribute": ("", "p.predictions"),
    "an attribute with a name": ("ids = p.predictions", "ids"),
    "by position": ("ids = p[0]", "ids"),
    "at once": ("", "p[0]"),
    "of a tuple": ("preds, labels = p\nif isinstance(preds, tuple):\n    preds = preds[0]", "preds"),
    "of a tuple, at once": ("preds, labels = p\npreds = preds[0] if isinstance(preds, tuple) else preds", "preds"),
    "renamed": ("preds, labels = p\ngenerated = preds", "generated"),
}


def outcome_of(before: str, decoded: str, given: str = "score", head: str = "def score(p):") -> Outcome:
    decodes = f"texts = tokenizer.batch_decode({decoded}, skip_special_tokens=True)\nreturn {{'n': len(texts)}}"
    metrics = "\n".join([head, indent("\n".join([before, decodes]).lstrip(), "    ")])
    return converted(SCRIPT.format(metrics=metrics, given=given))


@pytest.mark.parametrize(("before", "decoded"), DECODED.values(), ids=DECODED)
def test_the_padding_token_takes_the_place_of_what_is_no_token(before: str, decoded: str) -> None:
    outcome = outcome_of(before, decoded)
    after = "".join(outcome.text.split())
    assert f"batch_decode({FILLED.format(decoded)},skip".replace(" ", "") in after
    assert outcome.lines("RM752", Kind.CONVERTED)
    assert converted(outcome.text).text == outcome.text


@pytest.mark.parametrize(
    ("before", "decoded"),
    [
        ("preds, labels = p\npreds = np.where(preds != -100, preds, 0)", "preds"),
        ("preds, labels = p\npreds[preds == -100] = 0", "preds"),
        ("preds, labels = p", "np.where(preds != -100, preds, 0)"),
        ("preds, labels = p", "labels"),
        ("preds, labels = p\npreds = np.argmax(preds, axis=-1)", "preds"),
        ("preds = generate(p)", "preds"),
        ("", "p.label_ids"),
    ],
)
def test_what_is_filled_or_computed_stays(before: str, decoded: str) -> None:
    assert not outcome_of(before, decoded).lines("RM752", Kind.CONVERTED)


@pytest.mark.parametrize(
    ("before", "rows"),
    [
        ("texts = [tokenizer.decode(row) for row in p.predictions]", "p.predictions"),
        ("preds, labels = p\nfor row in preds:\n    print(tokenizer.decode(token_ids=row))", "preds"),
    ],
)
def test_rows_that_are_decoded_one_by_one_are_filled_before(before: str, rows: str) -> None:
    outcome = outcome_of(before, "[]")
    assert f"in {FILLED.format(rows)}" in outcome.text
    assert converted(outcome.text).text == outcome.text


def test_texts_of_bytes_are_no_predictions() -> None:
    assert not outcome_of("texts = [row.decode('utf-8') for row in p.predictions]", "[]").lines("RM752", Kind.MANUAL)


MADE = {
    "a lambda": ("", "lambda p: {'n': len(tokenizer.batch_decode(p[0]))}"),
    "by another function": (
        "def make(kind):\n    def f(p):\n        return {kind: len(tokenizer.batch_decode(p[0]))}\n    return f",
        "make('n')",
    ),
    "a partial": (
        "def score(kind, p):\n    return {kind: len(tokenizer.batch_decode(p[0]))}",
        "functools.partial(score, 'n')",
    ),
    "an object": (
        "class Score:\n    def __call__(self, p):\n        return {'n': len(tokenizer.batch_decode(p[0]))}",
        "Score()",
    ),
}


@pytest.mark.parametrize(("metrics", "given"), MADE.values(), ids=MADE)
def test_the_function_of_metrics_is_seen_however_it_is_made(metrics: str, given: str) -> None:
    outcome = converted("import functools\n" + SCRIPT.format(metrics=metrics, given=given).lstrip())
    assert FILLED.format("p[0]") in outcome.text
    assert converted(outcome.text).text == outcome.text


def test_a_function_that_no_trainer_is_given_stays() -> None:
    assert not outcome_of("preds, labels = p", "preds", given="None").lines("RM752", Kind.CONVERTED)
    assert outcome_of("preds, labels = p", "preds", "None", "def compute_metrics(p):").lines("RM752", Kind.CONVERTED)


def test_predictions_of_predict_are_filled_too() -> None:
    metrics = "def test(trainer: Seq2SeqTrainer, data):\n    out = trainer.predict(data)\n"
    metrics += "    return tokenizer.batch_decode(out.predictions)"
    outcome = converted(SCRIPT.format(metrics=metrics, given="None"))
    assert f"batch_decode({FILLED.format('out.predictions')})" in outcome.text


def test_without_a_tokenizer_that_is_seen_it_is_told() -> None:
    script = """
        import ray
        from ray.air import session

        class Scores:
            def __init__(self, tokenizer):
                self.tokenizer = tokenizer

            def compute_metrics(self, prediction):
                return self.tokenizer.batch_decode(prediction.predictions)

        def loop(config):
            session.report({})
        """
    outcome = converted(script)
    assert outcome.lines("RM752", Kind.MANUAL)
    assert any("numpy.where(prediction.predictions != -100" in message for message in outcome.messages)


def test_scripts_for_libraries_of_today_are_left_in_peace() -> None:
    script = """
        import numpy as np
        import ray.train
        from ray.train.torch import TorchTrainer
        from transformers import AutoTokenizer, Seq2SeqTrainer

        tokenizer = AutoTokenizer.from_pretrained("t5-small")

        def compute_metrics(p):
            return tokenizer.batch_decode(p.predictions)
        """
    assert converted(script).text == dedent(script).lstrip("\n")
