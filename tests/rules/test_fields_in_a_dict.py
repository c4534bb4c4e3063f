"""RM105: report_to that TrainingArguments get in the dict of their fields, once they are made."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def init(train_dataset, eval_dataset=None, **config):
    args = TrainingArguments("out", report_to="none")
    {setting}
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    return Trainer(model=model, args=args, train_dataset=train_dataset)


TransformersTrainer(init, datasets={{"train": rows}}, scaling_config=ScalingConfig(num_workers=2)).fit()
"""
GIVEN = (
    'vars(args)["report_to"] = ["wandb"]',
    'vars(args).update(report_to="wandb")',
    'fields = vars(args); fields["report_to"] = ["wandb"]',
    'args.__dict__["report_to"] = "wandb"',
    'args.__dict__.update({"report_to": "wandb"})',
)
NOT_GIVEN = (
    'vars(args)["report_to"]',
    'vars(args).update(report_to="none")',
    'vars(args).update(run_name="wandb")',
    'args.__dict__.update({"report_to": []})',
    'settings.get("report_to")',
)


@pytest.mark.parametrize("setting", GIVEN)
def test_the_loggers_that_it_starts_are_removed(setting: str) -> None:
    outcome = converted(SCRIPT.format(setting=setting))
    assert outcome.lines("RM105", Kind.CONVERTED) == [8]
    assert "trainer.remove_callback(callback)" in outcome.text


@pytest.mark.parametrize("setting", NOT_GIVEN)
def test_no_loggers_are_removed_where_none_start(setting: str) -> None:
    outcome = converted(SCRIPT.format(setting=setting))
    assert not outcome.lines("RM105")
    assert "remove_callback" not in outcome.text
