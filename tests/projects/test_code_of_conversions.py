"""Which code a conversion wrote: one question for classes and functions, and for all that is in them."""

import ast

import pytest

from raymigrate.facts.projects.helpers import is_in_helper
from raymigrate.facts.syntax.module import Module
from tests.rules.scripts import converted

SCRIPT = """
from ray.air import Checkpoint, session
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from ray.train.torch import TorchTrainer
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


class ReportToUs:
    def on_save(self, args, state, control, **kwargs):
        print(state)


def load_ours(checkpoint):
    return checkpoint.to_dict()


def loop(config):
    session.report({"a": 1}, checkpoint=Checkpoint.from_dict({"a": 1}))


def init(train_dataset, eval_dataset=None, **config):
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    return Trainer(model=model, args=TrainingArguments("out"), train_dataset=train_dataset)


TransformersTrainer(init, datasets={"train": rows}, scaling_config=ScalingConfig(num_workers=2)).fit()
load_ours(TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2)).fit().checkpoint)
"""
WRITTEN = {"ReportCallback": True, "TrainShard": True, "load_checkpoint": True, "shard_dataloader": True}
OWN = {"ReportToUs": False, "load_ours": False, "loop": False}


@pytest.mark.parametrize(("name", "is_written"), [*WRITTEN.items(), *OWN.items()])
def test_all_that_is_in_a_class_or_function_of_a_conversion_is_its_own(name: str, is_written: bool) -> None:
    module = Module(converted(SCRIPT).text)
    definition = next(
        node for node in module.tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name
    )
    assert {is_in_helper(module, node) for node in (definition, *module.below(definition))} == {is_written}
    assert not is_in_helper(module, module.tree)
