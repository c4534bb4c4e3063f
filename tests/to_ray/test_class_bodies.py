"""Names of the module that only the body of a class reads, which Ray does not see."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.rules.scripts import converted

HEAD = """\
import os, torch
from dataclasses import dataclass, field
from typing import Optional
from transformers import AutoModel, HfArgumentParser, Trainer, TrainerCallback, TrainingArguments
SIZE = 3
"""
TRAIN = 'trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("out"))\ntrainer.train()\n'


def read(text: str) -> str:
    """What the training function reads for Ray; empty if nothing."""
    after = converted(f"{HEAD}{text}", to_ray=True).text
    assert "trainer = TorchTrainer(" in after
    lines = [line.partition("  #")[0].strip() for line in after.splitlines() if "read_by_classes" in line]
    return "".join(lines).removeprefix("read_by_classes = ")


def main(body: str) -> str:
    """A `main` that trains behind some code."""
    lines = "".join(f"    {line}\n" for line in (body + TRAIN).splitlines())
    return f"def main():\n{lines}main()\n"


@pytest.mark.parametrize(
    ("script", "names"),
    [
        (main("@dataclass\nclass Ours:\n    name: Optional[str] = field(default=None)\nOurs()\n"), "[Optional, field]"),
        (main("class Ours(TrainerCallback):\n    size = SIZE\nOurs()\n"), "[SIZE]"),
        (
            main("class Ours(TrainerCallback):\n    @torch.no_grad()\n    def f(self, n=SIZE): pass\nOurs()\n"),
            "[SIZE, torch]",
        ),
        (main("def make():\n    class Ours:\n        size = SIZE\n    return Ours\nmake()\n"), "[SIZE]"),
        (f"model = AutoModel.from_pretrained('a')\nclass Ours:\n    size, of = SIZE, model\n{TRAIN}", "[SIZE]"),
        (
            "def make():\n    class Ours:\n        size = SIZE\n    return AutoModel.from_pretrained('a')\nmake()\n"
            f"{TRAIN}",
            "[SIZE]",
        ),
    ],
)
def test_the_training_function_reads_what_the_body_of_a_class_reads(script: str, names: str) -> None:
    assert read(script) == names


@pytest.mark.parametrize(
    "script",
    [
        f"class Ours:\n    size: Optional[int] = SIZE\n{TRAIN}",
        main("class Ours(TrainerCallback):\n    def f(self): return SIZE\nOurs()\n"),
        main("class Ours(TrainerCallback):\n    size = SIZE\nprint(SIZE, Ours)\n"),
        main("size = 3\nclass Ours(TrainerCallback):\n    mine = size\n    n = len('a')\nOurs()\n"),
    ],
)
def test_names_that_ray_sees_need_no_reader(script: str) -> None:
    assert read(script) == ""


MADE = """\
from ray import cloudpickle
SIZE = 3
def train():
    READ
    class Ours:
        size = SIZE
    return Ours.size
open(PATH, "wb").write(cloudpickle.dumps(train))
"""


@pytest.mark.parametrize(("line", "said"), [("pass", "NameError: name 'SIZE' is not defined"), ("a = [SIZE]", "")])
def test_what_cloudpickle_sends(line: str, said: str, tmp_path: Path) -> None:
    sent = str(tmp_path / "train.pkl")
    made = MADE.replace("READ", line).replace("PATH", repr(sent))
    subprocess.run([sys.executable, "-c", made], check=True)
    loaded = f"from ray import cloudpickle\ncloudpickle.load(open({sent!r}, 'rb'))()"
    outcome = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=False)
    assert outcome.stderr.strip().rpartition("\n")[2] == said
