"""RM602: checkpoints that are None before the first run, in an attribute or a name."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

RUN = """
import os
from dataclasses import dataclass, field
from typing import Optional

from ray.air import Checkpoint, ScalingConfig
from ray.train.huggingface import HuggingFaceTrainer
from transformers import AutoModel, Trainer, TrainingArguments


def init(train_dataset, eval_dataset=None, **config):
    model = AutoModel.from_pretrained("bert")
    return Trainer(model, TrainingArguments("o", no_cuda=True), train_dataset=train_dataset)


def run(ds):
    return HuggingFaceTrainer(init, scaling_config=ScalingConfig(num_workers=2), datasets={"train": ds}).fit()
"""
CLASS = """

class Model:
    {start}

    def fit(self, ds):
        result = run(ds)
        {kept}

    def save(self, folder):
        self.checkpoint.to_directory(folder)

    def load_model(self):
        with self.checkpoint.as_directory() as folder:
            return AutoModel.from_pretrained(folder)
"""
IN_INIT = "def __init__(self):\n        self.checkpoint = None"
ANNOTATED = "def __init__(self):\n        self.checkpoint: Optional[Checkpoint] = None"
KEPT = "self.checkpoint = result.checkpoint"
LOADED = """
    @classmethod
    def load(cls, folder):
        {name} = cls()
        {name}.checkpoint = Checkpoint.from_directory(folder)
        return {name}
"""
WEIGHTS = "AutoModel.from_pretrained({folder})"
COPIED = "shutil.copytree({folder}, folder, dirs_exist_ok=True)"


@pytest.mark.parametrize("kept", [KEPT, "self.checkpoint, self.metrics = result.checkpoint, result.metrics"])
@pytest.mark.parametrize("start", [IN_INIT, ANNOTATED, "checkpoint: Checkpoint | None = None"])
def test_none_before_the_first_run_hides_no_checkpoint(start: str, kept: str) -> None:
    outcome = converted(RUN + CLASS.format(start=start, kept=kept))
    assert len(outcome.lines("RM602", Kind.CONVERTED)) == 2
    assert WEIGHTS.format(folder='os.path.join(folder, "checkpoint")') in outcome.text
    assert COPIED.format(folder='os.path.join(checkpoint_dir, "checkpoint")') in outcome.text


@pytest.mark.parametrize("name", ["self", "obj"])
def test_one_that_may_be_loaded_from_a_folder_is_looked_for_at_either_place(name: str) -> None:
    outcome = converted(RUN + CLASS.format(start=IN_INIT, kept=KEPT) + LOADED.format(name=name))
    assert len(outcome.lines("RM602", Kind.CONVERTED)) == 2
    assert WEIGHTS.format(folder="transformers_dir(folder)") in outcome.text
    assert COPIED.format(folder="transformers_dir(checkpoint_dir)") in outcome.text


@pytest.mark.parametrize(
    "start",
    [
        "def __init__(self, checkpoint: Optional[Checkpoint] = None):\n        self.checkpoint = checkpoint",
        "def keep(self, ckpt):\n        self.checkpoint = ckpt",
        "def __init__(self, ckpt=None):\n        self.checkpoint = ckpt\n\n"
        "    @classmethod\n    def load(cls, path):\n        return cls(Checkpoint.from_directory(path))",
    ],
)
@pytest.mark.parametrize("kept", [KEPT, "pass"])
def test_one_that_a_method_may_be_given_is_looked_for_at_either_place(start: str, kept: str) -> None:
    outcome = converted(RUN + CLASS.format(start=start, kept=kept))
    assert len(outcome.lines("RM602", Kind.CONVERTED)) == 2
    assert WEIGHTS.format(folder="transformers_dir(folder)") in outcome.text


@pytest.mark.parametrize(
    "code",
    [
        "def load(ds, result=None):\n    result = result or run(ds)\n    with result.checkpoint",
        "class Of:\n    def __init__(self, result: Optional[Result] = None):\n        self.result = result\n\n"
        "    def fit(self, ds):\n        self.result = run(ds)\n\n"
        "    def load(self):\n        with self.result.checkpoint",
    ],
)
def test_a_result_that_may_be_given_has_them_at_either_place(code: str) -> None:
    block = f"{code}.as_directory() as folder:\n            return {WEIGHTS.format(folder='folder')}\n"
    outcome = converted(f"{RUN.replace('Checkpoint,', 'Checkpoint, Result,')}\n\n{block}")
    assert len(outcome.lines("RM602")) == 1
    assert WEIGHTS.format(folder="transformers_dir(folder)") in outcome.text


def test_a_checkpoint_that_is_made_where_none_is_given_is_looked_for_at_either_place() -> None:
    code = "def load(ds, checkpoint=None):\n    if checkpoint is None:\n        checkpoint = run(ds).checkpoint\n"
    block = f"{code}    with checkpoint.as_directory() as folder:\n        return {WEIGHTS.format(folder='folder')}\n"
    outcome = converted(f"{RUN}\n\n{block}")
    assert len(outcome.lines("RM602", Kind.CONVERTED)) == 1
    assert WEIGHTS.format(folder="transformers_dir(folder)") in outcome.text


def test_what_a_method_is_given_is_left_beside_another_trainer() -> None:
    other = "\n\nfrom ray.train.torch import TorchTrainer\n\nTorchTrainer(print).fit()\n"
    start = "def keep(self, ckpt):\n        self.checkpoint = ckpt"
    assert not converted(RUN + CLASS.format(start=start, kept="pass") + other).lines("RM602", Kind.CONVERTED)


def test_a_name_that_is_none_before_a_loop_is_followed() -> None:
    loop = "\nbest = None\nfor ds in ():\n    best = run(ds).checkpoint\nwith best.as_directory() as folder:\n    "
    outcome = converted(RUN + loop + WEIGHTS.format(folder="folder"))
    assert WEIGHTS.format(folder='os.path.join(folder, "checkpoint")') in outcome.text


def test_what_is_none_only_is_no_checkpoint() -> None:
    script = RUN + CLASS.format(start=IN_INIT, kept="pass")
    assert not converted(script).lines("RM602")


@pytest.mark.parametrize("other", ["os.environ['FOLDER']", "read(folder)"])
def test_what_else_it_may_be_is_not_taken_for_a_checkpoint(other: str) -> None:
    script = RUN + CLASS.format(start=IN_INIT, kept=f"{KEPT} or {other}")
    assert not converted(script).lines("RM602", Kind.CONVERTED)
