"""RM481: a metric that is made on the driver and goes to the workers with the function that uses it."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import evaluate
import ray.train
from job import task
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer

TASK = "mrpc"
metric = {load}

{functions}

def loop(config):
    for batch in config["batches"]:
        {use}


TorchTrainer(loop, train_loop_config={{}}, scaling_config=ScalingConfig(num_workers=2)).fit()
"""
COMPUTE = "metric.compute(predictions=batch, references=batch)"
ONE_LINE = "def score(batch): return metric.compute(predictions=batch, references=batch)\n"
TWO_LINES = ONE_LINE.replace(": return", ":\n    return")
COUNTED = "def count(batch):\n    metric.add_batch(predictions=batch, references=batch)\n    return metric.compute()\n"


def told(load: str = 'evaluate.load("f1")', functions: str = "", use: str = COMPUTE) -> tuple[str, list[Kind]]:
    outcome = converted(SCRIPT.format(load=load, functions=functions, use=use))
    return outcome.text, [kind for code, kind, _ in outcome.findings if code == "RM481"]


@pytest.mark.parametrize("load", ['evaluate.load("f1")', 'evaluate.load("glue", TASK)', 'evaluate.load(path="f1")'])
def test_it_is_loaded_in_the_function_that_uses_it(load: str) -> None:
    text, kinds = told(load)
    assert kinds == [Kind.CONVERTED]
    assert f"def loop(config):\n    metric = {load}\n" in text


@pytest.mark.parametrize(
    "load", ['evaluate.load("glue", task())', 'evaluate.load("glue", task)', 'evaluate.load("glue", **task)']
)
def test_where_what_it_is_loaded_by_may_be_another_there_it_is_told(load: str) -> None:
    text, kinds = told(load)
    assert kinds == [Kind.MANUAL]
    assert f"\nmetric = {load}\n" in text


@pytest.mark.parametrize("function", [ONE_LINE, TWO_LINES])
def test_so_it_is_in_a_function_that_another_one_calls(function: str) -> None:
    text, kinds = told(functions=function, use="score(batch)")
    assert kinds == [Kind.CONVERTED]
    assert (
        'def score(batch):\n    metric = evaluate.load("f1")\n'
        "    return metric.compute(predictions=batch, references=batch)\n"
    ) in text.replace("\n\n    return", "\n    return")


def test_several_functions_have_one_each_where_they_only_compute() -> None:
    text, kinds = told(functions=TWO_LINES, use=f"print(score(batch), {COMPUTE})")
    assert kinds == [Kind.CONVERTED]
    assert text.count('    metric = evaluate.load("f1")\n') == 2
    assert told(functions=COUNTED, use=f"print(count(batch), {COMPUTE})")[1] == [Kind.MANUAL]


@pytest.mark.parametrize("use", ["print(batch)", "metric = config['metric']; metric.compute(references=batch)"])
def test_a_metric_that_stays_on_the_driver_is_left(use: str) -> None:
    assert told(use=use)[1] == []


def test_a_metric_that_an_object_holds_is_not_followed() -> None:
    text = "job.metric = evaluate.load('f1')"
    assert text in told(load=f"None\n{text}")[0]


def test_a_metric_whose_type_is_said_is_loaded_where_it_is_used() -> None:
    script = SCRIPT.replace("metric = {load}", "metric: object = {load}")
    outcome = converted(script.format(functions="", load="evaluate.load('f1')", use="print(metric)"))
    assert outcome.lines("RM481", Kind.CONVERTED)
    assert "metric: object" not in outcome.text
    assert "    metric = evaluate.load('f1')\n" in outcome.text


HELD = {
    "walrus": "if (metric := evaluate.load('f1')):\n    pass",
    "in a row": "n, metric = 5, evaluate.load('f1')",
    "several": "metric = {'f1': evaluate.load('f1'), 'all': [evaluate.load('accuracy')]}",
    "comprehensions": "metric = {name: [evaluate.load(name) for _ in names] for name in ('f1', 'accuracy')}",
    "one or another": "metric = evaluate.load('f1') if TASK else None",
    "second name": "other = metric = evaluate.load('f1')",
    "or none": "metric = TASK or evaluate.load('f1')",
    "and": "metric = evaluate.load('f1') and TASK",
}


@pytest.mark.parametrize("line", HELD.values(), ids=HELD)
def test_a_metric_that_is_held_in_another_way_is_told(line: str) -> None:
    outcome = converted(
        SCRIPT.replace("metric = {load}", line.replace("{", "{{").replace("}", "}}")).format(
            functions="", use="print(metric)"
        )
    )
    assert set(outcome.lines("RM481")) and not outcome.lines("RM481", Kind.CONVERTED)
    assert line in outcome.text


@pytest.mark.parametrize(
    "line",
    [
        "metric, other = 5, evaluate.load('f1')",
        "metric = evaluate.load('f1').compute(n=1)",
        "metric = n = 5",
        "metric = 1 if evaluate.load('f1') else 2",
        "metric = evaluate.load('f1') or 3",
        "metric = [1 if evaluate.load('f1') else 2]",
    ],
)
def test_what_is_no_metric_is_not_told(line: str) -> None:
    outcome = converted(SCRIPT.replace("metric = {load}", line).format(functions="", use="print(metric)"))
    assert not outcome.lines("RM481")
