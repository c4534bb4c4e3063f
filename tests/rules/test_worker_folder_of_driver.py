"""RM483: workers that go to the folder of the driver find and leave there what they name by relative paths."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.run.engine import convert
from tests.projects.files import convert as convert_folder
from tests.rules.scripts import converted

SCRIPT = """
import contextlib
import os

import torch
from ray.air import ScalingConfig
from ray.train.huggingface import AccelerateTrainer
from own import options

DIRECTORY = os.getcwd()


def save(model, path):
    torch.save(model.state_dict(), path)


def go():
    os.chdir(DIRECTORY)


def loop(config):
    {first}
    torch.save(model.state_dict(), "model.pt")
    save(model, options().folder)


trainer = AccelerateTrainer(loop, accelerate_config={{}}, scaling_config=ScalingConfig(num_workers=2, use_gpu=True))
trainer.fit()
"""


@pytest.mark.parametrize(
    ("first", "told"),
    [
        ("os.chdir(DIRECTORY)", 0),
        ('os.chdir("/shared/run")', 0),
        ("os.chdir(os.path.abspath(__file__))", 0),
        ("os.chdir(path=DIRECTORY)", 0),
        ("go()", 0),
        ("try:\n        os.chdir(DIRECTORY)\n    finally:\n        print(config)", 0),
        ("with open('/log') as log:\n        os.chdir(DIRECTORY)", 0),
        ("with contextlib.chdir(DIRECTORY):\n      torch.save(model, 'a.pt')\n      torch.save(model, 'b.pt')", 2),
        ("with contextlib.chdir('run'):\n      torch.save(model, 'a.pt')", 3),
        ("pass", 2),
        ('os.chdir("run")', 2),
        ("os.chdir(config['folder'])", 2),
        ("if config:\n        os.chdir(DIRECTORY)", 2),
    ],
)
def test_a_relative_path_of_a_worker_that_goes_to_a_folder_is_not_told(first: str, told: int) -> None:
    assert len(converted(SCRIPT.format(first=first)).lines("RM483", Kind.MANUAL)) == told


def test_another_worker_that_stays_is_told() -> None:
    other = '\n\ndef other(config):\n    torch.save(1, "other.pt")\n    save(model, options().folder)\n'
    trains = "\n\nAccelerateTrainer(other, accelerate_config={}).fit()\n"
    messages = converted(SCRIPT.format(first="os.chdir(DIRECTORY)") + other + trains).messages
    told = [message for message in messages if "session's folder" in message]
    assert [message.partition(" ")[0] for message in told] == ["If", '"other.pt"']


@pytest.mark.parametrize(("first", "told"), [("os.chdir(DIRECTORY)", 0), ("pass", 1)])
def test_a_file_that_the_worker_imports_writes_to_its_folder(tmp_path: Path, first: str, told: int) -> None:
    text = SCRIPT.format(first=first).replace("from own import options", "from own import options, save")
    text = text.replace("def save(model, path):\n    torch.save(model.state_dict(), path)\n\n\n", "")
    (tmp_path / "train.py").write_text(text.replace('    torch.save(model.state_dict(), "model.pt")\n', ""))
    (tmp_path / "own.py").write_text('import torch\n\n\ndef save(model, path):\n    torch.save(model, "m.pt")\n')
    assert len([f for f in convert_folder(tmp_path).findings if f.code == "RM483"]) == told


def test_a_converted_plain_script_is_not_told_of_what_it_was_given() -> None:
    text = """
from transformers import HfArgumentParser, Trainer, TrainingArguments

(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
trainer = Trainer(make(), args)
trainer.train()
trainer.save_model(args.output_dir)
"""
    options = Options(to_ray=True, workers=2)
    after = convert(text, options=options).after
    assert after is not None
    assert "os.chdir(DIRECTORY)" in after
    assert not convert(after, options=options).findings


@pytest.mark.parametrize(("first", "told"), [("os.chdir(DIRECTORY)", 0), ("pass", 2)])
def test_methods_of_a_class_that_the_worker_uses_write_to_its_folder(first: str, told: int) -> None:
    text = SCRIPT.format(first=first).replace('torch.save(model.state_dict(), "model.pt")', "Job(config).run()")
    job = '\n\nclass Job:\n    def run(self):\n        torch.save(1, "job.pt")\n'
    other = "\n\nclass Trainer(transformers.Trainer):\n    def compute_loss(self, model, inputs):\n        return 1\n"
    text = text.replace("import torch\n", "import torch\nimport transformers\n").replace(
        "\n\ndef go", job + other + "\n\ndef go"
    )
    assert len(converted(text).lines("RM483", Kind.MANUAL)) == told
