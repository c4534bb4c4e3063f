"""Configurations that may be None, as trainers take them, where converted code adds entries to them."""

import pytest

from tests.rules.scripts import converted

SCRIPT = """
from typing import Optional
from ray import tune
from ray.air import Checkpoint, ScalingConfig, session
from ray.train.huggingface import TransformersTrainer
from ray.train.torch import TorchTrainer
from transformers import Trainer, TrainingArguments

def init(train_dataset, eval_dataset=None, **config):
    return Trainer(model=make(), args=TrainingArguments("o", **config), train_dataset=train_dataset)

def loop(config):
    checkpoint = session.get_checkpoint()
    session.report({"a": 1})

"""
TRAINER = "TransformersTrainer(init, trainer_init_config={given}, scaling_config=S, datasets={{'train': rows}}).fit()"


@pytest.mark.parametrize(
    ("use", "given"),
    [
        ("def go(config=None):\n    {trainer}", "config"),
        ("def go(config: Optional[dict]):\n    {trainer}", "config"),
        ("def go(config: dict | None):\n    {trainer}", "config"),
        ("config = None\nif fast:\n    config = {{'max_steps': 1}}\n{trainer}", "config"),
        ("def go(**options):\n    {trainer}", "options.get('config')"),
        ("def go(args):\n    {trainer}", "getattr(args, 'config', None)"),
        ("def load():\n    return {{'max_steps': 1}} if fast else None\n{trainer}", "load()"),
        ("class J:\n  def __init__(self, c=None):\n    self.c = c\n  def go(self):\n    {trainer}", "self.c"),
    ],
)
def test_one_that_may_be_none_has_no_entries_of_its_own(use: str, given: str) -> None:
    after = converted(SCRIPT + use.format(trainer=TRAINER.format(given=given)) + "\n").text
    assert f'{{**({given} or {{}}), "num_rows": ' in after


@pytest.mark.parametrize(
    "use",
    [
        "def go(config):\n    {trainer}",
        "config = load()\n{trainer}",
        "config = options.get('config', {{}})\n{trainer}",
        "def go(config=None):\n    config = config or {{}}\n    {trainer}",
    ],
)
def test_one_that_is_there_is_unpacked_as_it_is(use: str) -> None:
    after = converted(SCRIPT + use.format(trainer=TRAINER.format(given="config")) + "\n").text
    assert '{**config, "num_rows": ' in after


def test_a_checkpoint_to_go_on_from_is_added_to_one() -> None:
    trainer = "TorchTrainer(loop, train_loop_config=config, scaling_config=S, resume_from_checkpoint=old).fit()"
    after = converted(f"{SCRIPT}def go(old, config=None):\n    {trainer}\n").text
    assert 'train_loop_config={**(config or {}), "resume_from_checkpoint": old}' in after


def test_a_trial_adds_its_values_to_one() -> None:
    trainer = "TorchTrainer(loop, train_loop_config={given}, scaling_config=ScalingConfig(num_workers=1))"
    tuner = "tune.Tuner(t, param_space={'train_loop_config': {'lr': tune.uniform(0, 1)}}).fit()"
    script = f"{SCRIPT}def go(config{{default}}):\n    t = {trainer.format(given='config')}\n    return {tuner}\n"
    after = converted(script.replace("{default}", "=None")).text
    assert '{**(config or {}), **trial_config["train_loop_config"]}' in after
    after = converted(script.replace("{default}", "")).text
    assert '{**config, **trial_config["train_loop_config"]}' in after
