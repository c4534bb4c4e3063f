"""RM105: no logger starts that the legacy trainer had taken away, wherever report_to is set."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
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
        ("", 'keys = {"report_to": []}\n    keys.update(config)\n    args = TrainingArguments("out", **keys)'),
        ("keys = {'report_to': []}\nkeys['report_to'] = 'all'", "args = TrainingArguments(**keys)"),
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
        ("", 'args = TrainingArguments("out", report_to=["none"])'),
        ('KEYS = {"report_to": "none"}', 'args = TrainingArguments("out", max_steps=KEYS["steps"])'),
        ('KEYS = {"max_steps": 2}', 'args = TrainingArguments("out", **KEYS)'),
        ('OTHERS = {"report_to": "wandb"}', 'args = TrainingArguments("out")'),
        ("", 'off = {"report_to": []}\n    args = TrainingArguments("out", seed=1, **off)'),
        ('OFF = dict(report_to="none")', 'args = TrainingArguments("out", **{**OFF, "seed": 1})'),
    ],
)
def test_nothing_is_added_where_no_logger_starts(before: str, body: str) -> None:
    outcome = converted(SCRIPT.format(before=before, body=body))
    assert "get_reporting_integration_callbacks" not in outcome.text
    assert not outcome.lines("RM105", Kind.CONVERTED)


PARSED = "HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()[0]"
FOR_OTHERS = {
    "a parser": f"from transformers import HfArgumentParser\n\ndef here():\n    Trainer(args={PARSED}).train()\n",
    "a parser at the top": f"from transformers import HfArgumentParser\nPLAIN = {PARSED}\n",
    "arguments": 'def here():\n    Trainer(args=TrainingArguments("plain", report_to="all")).train()\n',
    "a configuration": "from hydra.utils import instantiate\n\ndef here(c):\n    Trainer(args=instantiate(c))\n",
}


@pytest.mark.parametrize("others", FOR_OTHERS.values(), ids=FOR_OTHERS)
@pytest.mark.parametrize(
    "body", ['args = TrainingArguments("out")', 'args = given("out")', "args = GIVEN", "args = Own('out')"]
)
def test_what_makes_arguments_for_others_takes_out_no_loggers_here(others: str, body: str) -> None:
    given = 'def given(folder):\n    return TrainingArguments(folder)\n\n\nGIVEN = given("other")\n'
    own = "class Own(TrainingArguments):\n    pass\n"
    outcome = converted(SCRIPT.format(before=f"{others}{given}{own}", body=body))
    assert "get_reporting_integration_callbacks" not in outcome.text
    assert not outcome.lines("RM105", Kind.CONVERTED)


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("from transformers import HfArgumentParser", f"args = {PARSED}"),
        (f"from transformers import HfArgumentParser\nARGS = {PARSED}", "args = ARGS"),
        ("from transformers import HfArgumentParser", f'args = {PARSED} if config else TrainingArguments("out")'),
        ("", 'args = config["args"]'),
        ('class Own(TrainingArguments):\n    pass\nOWN = Own("a", report_to="all")', "args = OWN"),
        (
            "import dataclasses\n@dataclasses.dataclass\nclass Own(TrainingArguments):\n    report_to: str = 'all'\n",
            "args = Own('out')",
        ),
    ],
)
def test_arguments_of_a_parser_or_of_an_own_class_may_start_loggers(before: str, body: str) -> None:
    outcome = converted(SCRIPT.format(before=before, body=body))
    assert "in get_reporting_integration_callbacks(trainer.args.report_to):" in outcome.text


def test_arguments_of_another_file_may_start_loggers(tmp_path: Path) -> None:
    (tmp_path / "settings.py").write_text(
        'from transformers import TrainingArguments\n\nARGS = TrainingArguments("out", report_to="all")\n'
    )
    job = tmp_path / "job.py"
    job.write_text(SCRIPT.format(before="from settings import ARGS", body="args = ARGS"))
    CliRunner().invoke(main, [str(tmp_path)])
    assert "in get_reporting_integration_callbacks(trainer.args.report_to):" in job.read_text()


def test_a_callable_object_that_makes_the_trainer_starts_no_logger() -> None:
    script = SCRIPT.replace("def init(train_dataset", "class Init:\n  def __call__(self, train_dataset").replace(
        "TransformersTrainer(init,", "TransformersTrainer(Init(),"
    )
    outcome = converted(
        script.format(before="", body='args = TrainingArguments("out", **json.load(open(sys.argv[1])))')
    )
    assert "in get_reporting_integration_callbacks(trainer.args.report_to):" in outcome.text
