"""RM107: datasets that may be None, as Ray 2.5 to 2.8 let them be."""

import pytest

from tests.rules.scripts import converted

SCRIPT = """
from typing import Dict, Optional
import ray
from ray.air.config import ScalingConfig
from ray.data.preprocessors import BatchMapper
from ray.train.huggingface import AccelerateTrainer, TransformersTrainer
from transformers import Trainer, TrainingArguments

def init(train_dataset, eval_dataset=None, **config):
    return Trainer(model=make(), args=TrainingArguments("o"), train_dataset=train_dataset or load())
"""
TRAINER = "TransformersTrainer(init, scaling_config=ScalingConfig(num_workers=2), datasets={given}).fit()"
COUNT = '.count() if "train" in {name} else None'


@pytest.mark.parametrize(
    ("use", "given", "name"),
    [
        ("def go(datasets=None):\n    {trainer}", "datasets", "ray_datasets"),
        ("def go(datasets: Optional[Dict]):\n    {trainer}", "datasets", "ray_datasets"),
        ("def go(datasets: dict | None):\n    {trainer}", "datasets", "ray_datasets"),
        ("def go(data=None):\n    {trainer}\ngo()\ngo({{'train': rows}})", "data", "datasets"),
        ("data = {{'train': rows}} if ray_data else None\n{trainer}", "data", "datasets"),
        ("data = None\nif ray_data:\n    data = {{'train': rows}}\n{trainer}", "data", "datasets"),
        ("{trainer}", "data or None", "datasets"),
        ("def load():\n    return {{'train': rows}} if ray_data else None\n{trainer}", "load()", "datasets"),
        (
            "class J:\n  def __init__(self, data=None):\n    self.data = data\n  def go(self):\n    {trainer}",
            "self.data",
            "datasets",
        ),
    ],
)
def test_the_workers_do_without_datasets_that_may_be_none(use: str, given: str, name: str) -> None:
    script = SCRIPT + use.format(trainer=TRAINER.format(given=given)) + "\n"
    after = converted(script).text
    assert f"{name} = {given.removesuffix(' or None')} or {{}}\n" in after
    assert f'{name}["train"]{COUNT.format(name=name)}' in after
    assert f'"has_evaluation": "evaluation" in {name}' in after
    assert "train_dataset = TrainShard(num_rows) if num_rows is not None else None\n" in after
    assert "    if num_rows is not None:\n        trainer.get_train_dataloader = " in after


@pytest.mark.parametrize(
    "use",
    [
        "def go(datasets):\n    {trainer}",
        "def go(datasets=None):\n    {trainer}\ngo({{'train': rows}})",
        "datasets = {{'train': rows}}\n{trainer}",
        "datasets = load()\n{trainer}",
    ],
)
def test_datasets_that_are_none_nowhere_are_counted(use: str) -> None:
    script = SCRIPT + use.format(trainer=TRAINER.format(given="datasets")) + "\n"
    after = converted(script).text
    assert 'datasets["train"].count()' in after or "rows.count()" in after
    assert " or {}" not in after and "is not None" not in after


@pytest.mark.parametrize("trainer", ["TransformersTrainer(init", "AccelerateTrainer(loop, accelerate_config={}"])
def test_a_preprocessor_maps_no_datasets_where_there_are_none(trainer: str) -> None:
    call = f'{trainer}, datasets=datasets, preprocessor=BatchMapper(f, batch_format="pandas")).fit()'
    after = converted(SCRIPT + f"def go(datasets=None):\n    {call}\n").text
    assert "ray_datasets = datasets or {}\n" in after
    assert "in ray_datasets.items()" in after


def test_a_name_of_the_script_stays_its_own() -> None:
    script = SCRIPT.replace("def init", "num_rows = 3\n\ndef init").replace("make()", "make(num_rows)")
    after = converted(script + "def go(datasets=None):\n    " + TRAINER.format(given="datasets") + "\n").text
    assert 'ray_num_rows = config.pop("num_rows' in after
    assert "make(num_rows)" in after
