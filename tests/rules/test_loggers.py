"""RM105: no logger starts that the legacy trainer had taken away, wherever report_to is set."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import json
import sys
import ray
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
{before}

def init(train_dataset, eval_dataset=None, **config):
    {body}
    return Trainer(model=AutoModelForCausalLM.from_pretrained("gpt2"), args=args, train_dataset=train_dataset)


TransformersTrainer(init, scaling_config=ScalingConfig(num_workers=2), datasets={{"train": ray.data.range(8)}}).fit()
"""
REMOVED = (
    "for callback in get_reporting_integration_callbacks(trainer.args.report_to):\n"
    "        trainer.remove_callback(callback)\n"
)


@pytest.mark.parametrize("given", ['"wandb"', '["mlflow"]', 'config.get("report_to", "all")', "sys.argv[1]"])
def test_an_argument_in_the_init_function_becomes_none(given: str) -> None:
    outcome = converted(SCRIPT.format(before="", body=f'args = TrainingArguments("out", report_to={given})'))
    assert 'report_to="none"' in outcome.text and REMOVED not in outcome.text


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ('KEYS = {"output_dir": "out", "report_to": "wandb"}', "args = TrainingArguments(**KEYS)"),
        ("", 'keys = dict(report_to=["mlflow"])\n    args = TrainingArguments("out", **keys)'),
        ("", 'keys = {}\n    keys["report_to"] = "all"\n    args = TrainingArguments("out", **keys)'),
        ("", 'args = TrainingArguments("out")\n    args.report_to = ["wandb"]'),
        ('args = TrainingArguments("out", report_to="tensorboard")', "pass"),
        ('def make():\n    return TrainingArguments("out", report_to="all")\n', "args = make()"),
        ("", 'args = TrainingArguments("out", **json.load(open(sys.argv[1])))'),
        ("", 'args = TrainingArguments("out", **config["arguments"])'),
    ],
)
def test_elsewhere_the_training_function_takes_the_loggers_out(before: str, body: str) -> None:
    outcome = converted(SCRIPT.format(before=before, body=body))
    assert REMOVED in outcome.text
    assert len(outcome.lines("RM105", Kind.CONVERTED)) == 1


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("", 'args = TrainingArguments("out")'),
        ("", 'args = TrainingArguments("out", report_to="none")'),
        ('KEYS = {"report_to": "none"}', 'args = TrainingArguments("out", max_steps=KEYS["steps"])'),
        ('KEYS = {"max_steps": 2}', 'args = TrainingArguments("out", **KEYS)'),
        ('OTHERS = {"report_to": "wandb"}', 'args = TrainingArguments("out")'),
    ],
)
def test_nothing_is_added_where_no_logger_starts(before: str, body: str) -> None:
    outcome = converted(SCRIPT.format(before=before, body=body))
    assert "get_reporting_integration_callbacks" not in outcome.text
    assert not outcome.lines("RM105", Kind.CONVERTED)


def test_a_callable_object_that_makes_the_trainer_starts_no_logger() -> None:
    script = SCRIPT.replace("def init(train_dataset", "class Init:\n  def __call__(self, train_dataset").replace(
        "TransformersTrainer(init,", "TransformersTrainer(Init(),"
    )
    outcome = converted(
        script.format(before="", body='args = TrainingArguments("out", **json.load(open(sys.argv[1])))')
    )
    assert "in get_reporting_integration_callbacks(trainer.args.report_to):" in outcome.text
