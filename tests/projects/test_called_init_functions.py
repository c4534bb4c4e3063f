"""Init functions that other files use too: they stay as they are, and so do their callers."""

from pathlib import Path

import pytest

from tests.projects.files import convert, write

TRAIN = """
from ray.train.huggingface import HuggingFaceTrainer
from transformers import Trainer, TrainingArguments


def init(train_dataset, eval_dataset=None, **config):
    args = TrainingArguments("out", evaluation_strategy="epoch", no_cuda=True, report_to="none")
    return Trainer(make_model(), args, train_dataset=train_dataset, eval_dataset=eval_dataset)


def fit(rows):
    return HuggingFaceTrainer(init, datasets={"train": rows}).fit()
"""
INIT = "def init(train_dataset, eval_dataset=None, **config):"
TEST = "{imports}\n\n\ndef test_init():\n    trainer = {init}(None, None, lr=1)\n    assert trainer.args.{strategy}\n"
OLD, NEW = "evaluation_strategy", "eval_strategy"


@pytest.mark.parametrize(
    ("imports", "init"),
    [
        ("from job.train import init", "init"),
        ("from job.train import init as make", "make"),
        ("from job import train", "train.init"),
        ("import job.train", "job.train.init"),
        ("from job.train import *", "init"),
        ("from functools import partial\n\nfrom job.train import init", "partial(init, epochs=2)"),
    ],
)
@pytest.mark.parametrize("marker", ["setup.py", "job/__init__.py"])
def test_an_init_function_that_a_test_calls_stays(tmp_path: Path, imports: str, init: str, marker: str) -> None:
    test = TEST.format(imports=imports, init=init, strategy=OLD)
    write(tmp_path, {marker: "", "job/__init__.py": "", "job/train.py": TRAIN, "tests/test_init.py": test})
    convert(tmp_path)
    text = (tmp_path / "job/train.py").read_text()
    assert INIT in text
    assert "def train_func(config):" in text
    test = (tmp_path / "tests/test_init.py").read_text()
    if "partial" not in init:  # what a partial makes is not followed
        assert test == TEST.format(imports=imports, init=init, strategy=NEW)


def test_a_test_of_an_init_function_is_converted_with_the_file_that_has_it(tmp_path: Path) -> None:
    head, _, fit = TRAIN.partition("\n\ndef fit")
    model = head.replace("from ray.train.huggingface import HuggingFaceTrainer\n", "")
    driver = f"from ray.train.huggingface import HuggingFaceTrainer\n\nfrom job.model import init\n\n\ndef fit{fit}"
    test = TEST.format(imports="from job import model", init="model.init", strategy=OLD)
    files = {"job/__init__.py": "", "job/model.py": model, "job/train.py": driver, "tests/test_init.py": test}
    write(tmp_path, files)
    convert(tmp_path)
    assert INIT in (tmp_path / "job/model.py").read_text()
    assert f"trainer.args.{NEW}" in (tmp_path / "tests/test_init.py").read_text()


def test_a_script_beside_it_is_looked_at_though_it_was_not_named(tmp_path: Path) -> None:
    write(tmp_path, {"train.py": TRAIN, "check.py": "from train import init\n\nprint(init(None, None))\n"})
    convert(tmp_path / "train.py")
    assert INIT in (tmp_path / "train.py").read_text()


@pytest.mark.parametrize(
    "test",
    [
        'from importlib import import_module\n\ntrain = import_module("job.train")\nprint(train.init(None, None))\n',
        'from unittest import mock\n\nwith mock.patch("job.train.init"):\n    pass\n',
        'import job.train\nfrom unittest import mock\n\nwith mock.patch("job.train.init"):\n    pass\n',
    ],
)
def test_one_that_a_string_may_name_stays(tmp_path: Path, test: str) -> None:
    write(tmp_path, {"job/__init__.py": "", "job/train.py": TRAIN, "tests/test_init.py": test})
    convert(tmp_path)
    assert INIT in (tmp_path / "job/train.py").read_text()


@pytest.mark.parametrize(
    "other",
    [
        'from importlib import import_module\n\nprint(import_module("job.trained").init())\n# job.train\n',
        "from job.train import fit\n\nprint(fit(None))\n",
        "def init(rows):\n    return rows\n\n\nprint(init(None))\n",
        "from job.data import init\n\nprint(init(None))\n",
        "FORMS = ['init', 'fit']\n\nfor form in FORMS:\n    print(form)\n",
        "from ray.train import ScalingConfig\n\nprint(ScalingConfig(), 'init')\n",
    ],
    ids=["another_module", "another_function", "a_function_of_its_own", "another_file", "its_name_alone", "ray.train"],
)
def test_one_that_no_other_file_uses_becomes_the_training_function(tmp_path: Path, other: str) -> None:
    data = "def init(rows):\n    return rows\n"
    files = {"job/__init__.py": "", "job/train.py": TRAIN, "job/data.py": data, "tests/test_init.py": other}
    write(tmp_path, files)
    convert(tmp_path)
    text = (tmp_path / "job/train.py").read_text()
    assert "def init(" not in text
    assert "def train_func(config):" in text
