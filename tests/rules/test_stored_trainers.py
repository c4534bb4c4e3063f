"""RM103 and RM209: where the class of a legacy trainer is called by a name, an attribute or an entry that stores it."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import convert, write
from tests.rules.scripts import converted

HEAD = """import sys

from ray.air import ScalingConfig
from ray.train.huggingface import AccelerateTrainer, TransformersTrainer


def loop(config):
    print(config)


"""
CALL = "{}(loop, accelerate_config={{}}, scaling_config=ScalingConfig(num_workers=2)).fit()\n"
ACCELERATE, TRANSFORMERS = "This calls AccelerateTrainer", "This calls TransformersTrainer"


def calls_told(script: str) -> list[str]:
    outcome = converted(script)
    found = zip(outcome.findings, outcome.messages, strict=True)
    return [text.partition(",")[0] for (_, kind, _), text in found if kind is Kind.MANUAL and "This calls" in text]


@pytest.mark.parametrize(
    ("stored", "called"),
    [
        ("Trainer = AccelerateTrainer\n", "Trainer"),
        ("from typing import Type\n\nTrainer: Type[AccelerateTrainer] = AccelerateTrainer\n", "Trainer"),
        ('TRAINERS = {"hf": dict, "accelerate": AccelerateTrainer}\n', 'TRAINERS["accelerate"]'),
        ('TRAINERS = {"hf": dict, "accelerate": AccelerateTrainer}\n', "TRAINERS.get(sys.argv[1])"),
        ("TRAINERS = dict(accelerate=AccelerateTrainer)\n", "TRAINERS[sys.argv[1]]"),
        ("class Job:\n    trainer_cls = AccelerateTrainer\n\n\njob = Job()\n", "job.trainer_cls"),
        ("class Job:\n    trainer_cls = AccelerateTrainer\n\n\n", "Job.trainer_cls"),
        ("def chosen():\n    return AccelerateTrainer\n\n\n", "chosen()"),
        ("Trainer = AccelerateTrainer if sys.argv[1:] else print\n", "Trainer"),
    ],
)
def test_a_call_of_a_stored_class_is_told(stored: str, called: str) -> None:
    assert calls_told(HEAD + stored + CALL.format(called)) == [ACCELERATE]


def test_a_method_that_calls_what_its_class_or_its_object_stores_is_told() -> None:
    by_class = "class Job:\n    trainer_cls = AccelerateTrainer\n\n    def run(self):\n        self.trainer_cls(loop)\n"
    by_object = by_class.replace("    trainer_cls =", "    def __init__(self):\n        self.trainer_cls =")
    assert [calls_told(HEAD + script) for script in (by_class, by_object)] == [[ACCELERATE]] * 2
    other = "\n\nclass Other(Job):\n    trainer_cls = TransformersTrainer\n"
    assert sorted(calls_told(HEAD + by_class + other)) == [ACCELERATE, TRANSFORMERS]


@pytest.mark.parametrize(
    "code",
    [
        CALL.format("AccelerateTrainer"),
        "from ray.train.torch import TorchTrainer as Trainer\n\n" + CALL.format("Trainer"),
        "kinds = {AccelerateTrainer: print}\nkinds[AccelerateTrainer](loop)\n",
        "def loops(cls):\n    return cls.__name__\n\n\nloops(AccelerateTrainer)\n",
        "names = [AccelerateTrainer.__name__]\nprint(names[0].upper())\n",
    ],
)
def test_other_calls_are_not(code: str) -> None:
    assert not calls_told(HEAD + code)


def test_a_call_in_another_file_is_told_there(tmp_path: Path) -> None:
    registry = (
        "from ray.train.huggingface import AccelerateTrainer, TransformersTrainer\n\n"
        'Stored = AccelerateTrainer\nTRAINERS = {"hf": TransformersTrainer, "accelerate": AccelerateTrainer}\n\n\n'
        "class Base:\n    trainer_cls = AccelerateTrainer\n"
    )
    job = (
        "from ray.air import ScalingConfig\nfrom registry import TRAINERS, Base, Stored\n\n\n"
        "def loop(config):\n    print(config)\n\n\nclass Job(Base):\n    def run(self):\n        self.trainer_cls(loop,"
        " scaling_config=None)\n\n\n" + CALL.format('TRAINERS["accelerate"]') + CALL.format("Stored")
    )
    write(tmp_path, {"registry.py": registry, "job.py": job})
    told = [f for f in convert(tmp_path).findings if f.message.startswith(ACCELERATE)]
    assert [(Path(f.path).name, f.code, f.line) for f in told] == [("job.py", "RM209", n) for n in (11, 14, 15)]
