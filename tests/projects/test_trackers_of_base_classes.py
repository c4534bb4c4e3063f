"""RM753: TrainingArguments in a method of a class whose base class, in another file, gives it to the legacy trainer."""

from pathlib import Path

import pytest

from tests.projects.files import convert, write

BASE = """
from ray.air import ScalingConfig
from ray.train.huggingface import TransformersTrainer


class Job:
    def run(self, data):
        return TransformersTrainer(
            trainer_init_per_worker=self.init,
            datasets={"train": data},
            scaling_config=ScalingConfig(num_workers=2, use_gpu=True),
        ).fit()
"""
LOOP = """
from ray.air import ScalingConfig
from ray.train.torch import TorchTrainer


class Loop:
    def run(self, data):
        return TorchTrainer(self.init, scaling_config=ScalingConfig(num_workers=2, use_gpu=True)).fit()
"""
DERIVED = """
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments

from {home} import {base}


class Mine({base}):
    @staticmethod
    def init(train_dataset, eval_dataset=None, **config):
        model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased")
        return Trainer(model=model, args=TrainingArguments("out"), train_dataset=train_dataset)
"""
BETWEEN = "from base import Job\n\n\nclass Between(Job):\n    name = 'between'\n"
CLI = "from mine import Mine\n\nJOBS = {'mine': Mine}\nJOBS['mine']().run(None)\n"


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"base.py": BASE, "mine.py": DERIVED.format(home="base", base="Job"), "cli.py": CLI}, 0),
        (
            {
                "base.py": BASE,
                "between.py": BETWEEN,
                "mine.py": DERIVED.format(home="between", base="Between"),
                "cli.py": CLI,
            },
            0,
        ),
        (
            {
                "base.py": BASE,
                "loops.py": LOOP,
                "mine.py": "import ray\n" + DERIVED.format(home="loops", base="Loop"),
                "cli.py": CLI,
            },
            1,
        ),
    ],
)
def test_a_legacy_trainer_of_a_base_class_had_no_trackers(tmp_path: Path, files: dict[str, str], told: int) -> None:
    old = files["mine.py"].replace('TrainingArguments("out")', 'TrainingArguments("out", evaluation_strategy="no")')
    write(tmp_path, {**files, "mine.py": old})
    assert len([one for one in convert(tmp_path).findings if one.code == "RM753"]) == told
