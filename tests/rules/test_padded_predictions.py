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


CALLED = {
    "at once": "texts = tokenizer.batch_decode(trainer.predict(data).predictions)",
    "row by row": "for row in trainer.predict(data).predictions:\n        print(tokenizer.decode(row))",
}


@pytest.mark.parametrize("decodes", CALLED.values(), ids=CALLED)
def test_what_is_called_is_not_called_twice(decodes: str) -> None:
    metrics = f"def test(trainer: Seq2SeqTrainer, data):\n    {decodes}"
    outcome = converted(SCRIPT.format(metrics=metrics, given="None"))
    assert outcome.text.count("trainer.predict(data)") == 1
    assert outcome.lines("RM752", Kind.MANUAL)
    advice = "predictions = trainer.predict(data).predictions. Decode numpy.where(predictions != -100, predictions,"
    assert any(advice in message for message in outcome.messages)


FILLS = {
    "items of an attribute": ("p.predictions[p.predictions == -100] = 0", "p.predictions"),
    "of an attribute with a name": ("p.predictions[p.predictions == -100] = 0\nids = p.predictions", "ids"),
    "of an attribute, named before": ("ids = p.predictions\np.predictions[p.predictions == -100] = 0", "ids"),
    "of the first of two": ("p[0][p[0] == -100] = 0", "p[0]"),
    "putmask": ("preds, labels = p\nnp.putmask(preds, preds == -100, 0)", "preds"),
    "copyto": ("np.copyto(dst=p.predictions, src=0, where=p.predictions == -100)", "p.predictions"),
    "place": ("preds = p[0]\nnp.place(preds, preds == -100, 0)", "preds"),
    "a function": ("preds, labels = p\nfill(preds)", "preds"),
    "a function of the project": ("from .texts import fill\npreds, labels = p\nfill(array=preds)", "preds"),
}


@pytest.mark.parametrize(("before", "decoded"), FILLS.values(), ids=FILLS)
def test_what_a_script_fills_itself_is_left_in_peace(before: str, decoded: str) -> None:
    outcome = outcome_of(before, decoded)
    assert not outcome.lines("RM752", Kind.CONVERTED)
    assert not outcome.lines("RM752", Kind.MANUAL)


def test_rows_that_are_filled_one_by_one_are_left_in_peace() -> None:
    outcome = outcome_of("for row in p.predictions:\n    row[row == -100] = 0\n    print(tokenizer.decode(row))", "[]")
    assert not outcome.lines("RM752", Kind.CONVERTED)


FILLS_NOTHING = {
    "it is printed": "preds, labels = p\nprint(preds)",
    "it is logged": "preds, labels = p\nlogger.info(preds)",
    "an own function logs it": "preds, labels = p\nlog_rows(preds)",
    "another array": "preds, labels = p\nlabels[labels == -100] = 0\nnp.putmask(labels, preds == -100, 0)",
    "asked for its shape": "preds, labels = p\nassert preds.ndim == 2 and len(preds) == len(labels)",
    "items after a decode": "preds, labels = p\ntokenizer.batch_decode(preds)\npreds[preds == -100] = 0",
}


@pytest.mark.parametrize("before", FILLS_NOTHING.values(), ids=FILLS_NOTHING)
def test_what_does_not_fill_them_is_none_of_that(before: str) -> None:
    outcome = outcome_of(before, "preds")
    assert outcome.lines("RM752", Kind.CONVERTED)
    assert not outcome.lines("RM752", Kind.MANUAL)


READ = {
    "in a comprehension": "lengths = [np.count_nonzero(row != tokenizer.pad_token_id) for row in preds]",
    "compared": "lengths = (preds != tokenizer.pad_token_id).sum(1)",
    "by another function": "scores = score_ids(preds, labels)",
}


@pytest.mark.parametrize("read", READ.values(), ids=READ)
def test_where_they_are_read_besides_it_is_told(read: str) -> None:
    outcome = outcome_of(f"preds, labels = p\nif isinstance(preds, tuple):\n    preds = preds[0]\n{read}", "preds")
    assert outcome.lines("RM752", Kind.CONVERTED)
    assert len(outcome.lines("RM752", Kind.MANUAL)) == 1
    assert any("preds = numpy.where(preds != -100" in message for message in outcome.messages)


@pytest.mark.parametrize(
    "after",
    [
        "preds = tokenizer.batch_decode(preds)\npreds = [text.strip() for text in preds]",
        "texts = tokenizer.batch_decode(preds)\nlengths = [(row[row != -100] != 0).sum() for row in preds]",
        "ids, first = preds, preds[0]\ntexts = tokenizer.batch_decode(preds)",
    ],
)
def test_other_reads_are_not_told(after: str) -> None:
    outcome = outcome_of(f"preds, labels = p\n{after}", "[]")
    assert outcome.lines("RM752", Kind.CONVERTED)
    assert not outcome.lines("RM752", Kind.MANUAL)


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
