"""RM726: metrics whose results or arguments are not those of datasets any more."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import datasets
import evaluate
from datasets import load_metric
from ray.air import session

rouge = {load}


def scores(written, wanted):
    {body}


session.report({{}})
"""
COMPUTE = "rouge.compute(predictions=written, references=wanted)"
LOADS = ['load_metric("rouge")', 'datasets.load_metric("rouge")', 'evaluate.load("rouge")']


def script(body: str, load: str = LOADS[0]) -> str:
    return SCRIPT.format(load=load, body=body.replace("RESULT", COMPUTE).replace("\n", "\n    "))


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize(
    ("body", "now"),
    [
        ("return {k: v.mid.fmeasure * 100 for k, v in RESULT.items()}", "{k: v * 100 for k, v in"),
        ('return RESULT["rouge2"].mid.fmeasure', '["rouge2"]\n'),
        ("r = RESULT\nr = {k: round(v.mid.fmeasure, 4) for k, v in r.items()}", "round(v, 4)"),
        ("r = RESULT\nreturn [v.mid.fmeasure for v in r.values()]", "[v for v in"),
        ("r = RESULT\nfor k in r:\n    print(k, r[k].mid.fmeasure)", "print(k, r[k])"),
        ("r = RESULT\nfor k, v in sorted(r.items()):\n    print(k, v.mid.fmeasure)", "print(k, v)"),
        ("r = RESULT\nlongest = r.get('rougeL')\nreturn longest.mid.fmeasure", "return longest\n"),
        ('r = RESULT\nreturn [s.fmeasure for s in r["rouge1"]]', '[s for s in r["rouge1"]]'),
        ('r = RESULT\nreturn r["rouge1"][0].fmeasure', 'return r["rouge1"][0]\n'),
        ("return rouge.compute(predictions=written, references=wanted, use_agregator=True)", "use_aggregator=True)"),
    ],
)
def test_what_rouge_gives_is_read_as_it_is_today(body: str, now: str, load: str) -> None:
    outcome = converted(script(body, load))
    assert now in outcome.text
    assert {became for code, became, _ in outcome.findings if code == "RM726"} <= {Kind.CONVERTED, Kind.NOTE}
    assert outcome.lines("RM726", Kind.CONVERTED)


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize(
    "body",
    [
        'return RESULT["rouge1"].mid',
        'return RESULT["rouge1"].mid.recall',
        'return RESULT["rouge1"].high.fmeasure',
        "r = RESULT\nprint(f\"{r['rouge1'].mid.fmeasure}\")",
        'return RESULT["rouge1"][0].precision',
        "r = {k: v for k, v in RESULT.items()}\nreturn r['rouge1'].mid.fmeasure",
        "return written.mid.fmeasure",
    ],
)
def test_what_rouge_does_not_give_is_told(body: str, load: str) -> None:
    assert len(converted(script(body, load)).lines("RM726", Kind.MANUAL)) == 1


def test_a_result_that_is_handed_on_whole_gets_a_note() -> None:
    assert converted(script("return RESULT")).lines("RM726", Kind.NOTE) == [6]
    assert not converted(script("return RESULT", 'evaluate.load("rouge")')).lines("RM726", Kind.NOTE)


@pytest.mark.parametrize("name", ["bleu", "google_bleu", "exact_match", "perplexity"])
def test_a_metric_of_datasets_that_is_another_one_is_told(name: str) -> None:
    assert converted(script("return RESULT", f'load_metric("{name}")')).lines("RM726", Kind.MANUAL) == [6]
    assert not converted(script("return RESULT", f'evaluate.load("{name}")')).lines("RM726", Kind.MANUAL)


def test_perplexity_of_an_older_evaluate_is_told_where_it_gets_its_texts() -> None:
    outcome = converted(script("rouge.compute(input_texts=written)", 'evaluate.load("perplexity")'))
    assert outcome.lines("RM726", Kind.MANUAL) == [10]


@pytest.mark.parametrize("name", ["accuracy", "seqeval", "sacrebleu", "bertscore", "glue"])
@pytest.mark.parametrize("body", ["return RESULT", "return rouge.low + rouge.high", "return written.mid"])
def test_metrics_that_are_the_same_are_left(name: str, body: str) -> None:
    outcome = converted(script(body, f'load_metric("{name}")'))
    assert not [code for code, _, _ in outcome.findings if code == "RM726"]


def test_scores_of_the_package_itself_are_left() -> None:
    body = "from rouge_score import scoring\nreturn scoring.BootstrapAggregator().aggregate()['rouge1'].mid.fmeasure"
    assert not converted(script(body, 'load_metric("accuracy")')).lines("RM726", Kind.MANUAL)


@pytest.mark.parametrize(
    ("load", "now"),
    [
        ('load_metric("glue", "mrpc")', 'evaluate.load("glue", "mrpc")'),
        (
            'load_metric("glue", "mrpc", 0, 2)',
            'evaluate.load(path="glue", config_name="mrpc", process_id=0, num_process=2)',
        ),
    ],
)
def test_the_third_argument_of_load_metric_is_named(load: str, now: str) -> None:
    assert now in converted(script("return RESULT", load)).text
