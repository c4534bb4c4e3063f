"""RM602 where the checkpoint may be that of a trial: the folder in it that the files of Transformers lie in."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = '''
import os

from ray.train.huggingface import TransformersTrainer
from ray.tune import Tuner
from transformers import AutoModel, Trainer, TrainingArguments


def transformers_dir(checkpoint_dir):
    """Where the files of Transformers are in a checkpoint: in a folder of it, or at its root if legacy Ray wrote it."""
    folder = os.path.join(checkpoint_dir, "checkpoint")
    return folder if os.path.isdir(folder) else checkpoint_dir


def own_dir(checkpoint_dir):
    return checkpoint_dir


def init(train_dataset, eval_dataset=None, **config):
    return Trainer(make_model(), TrainingArguments("out", report_to="none"), train_dataset=train_dataset)


class Job:
    def build(self, rows):
        return TransformersTrainer(init, datasets={{"train": rows}})

    def fit(self, rows):
        self.result = self.build(rows).fit()

    def tune(self, rows):
        self.result = Tuner(self.build(rows)).fit().get_best_result("eval_loss", "min")

    def export(self):
        ckpt = self.result.checkpoint
        {code}
'''


@pytest.mark.parametrize(
    "code",
    [
        "with ckpt.as_directory() as folder:\n            AutoModel.from_pretrained({})",
        "folder = ckpt.to_directory()\n        AutoModel.from_pretrained({})",
        "folder = ckpt.path\n        AutoModel.from_pretrained({})",
    ],
)
@pytest.mark.parametrize(
    ("folder", "is_told"),
    [
        ("folder", True),
        ("own_dir(folder)", True),
        ("os.path.join(folder, 'model')", True),
        ("transformers_dir(folder)", False),
        ("os.path.join(folder, 'checkpoint')", False),
        ("f'{folder}/checkpoint'", False),
    ],
)
def test_it_is_told_unless_the_files_are_looked_for_there(code: str, folder: str, *, is_told: bool) -> None:
    outcome = converted(SCRIPT.format(code=code.format(folder)))
    assert len(outcome.lines("RM602", Kind.MANUAL)) == is_told


@pytest.mark.parametrize(("function", "is_told"), [("transformers_dir", False), ("own_dir", True)])
def test_the_folder_may_have_no_name(function: str, *, is_told: bool) -> None:
    outcome = converted(SCRIPT.format(code=f"AutoModel.from_pretrained({function}(ckpt.to_directory()))"))
    assert len(outcome.lines("RM602", Kind.MANUAL)) == is_told


@pytest.mark.parametrize("folder", ["checkpoint.to_directory()", "checkpoint.path"])
def test_what_goes_deeper_in_a_function_that_gets_the_checkpoint_is_not_told_besides(folder: str) -> None:
    function = f"\n\ndef predict(checkpoint):\n    AutoModel.from_pretrained({folder})\n"
    outcome = converted(SCRIPT.format(code="predict(ckpt)") + function)
    assert f"AutoModel.from_pretrained(transformers_dir({folder}))" in outcome.text
    assert [kind for code, kind, _ in outcome.findings if code == "RM602"] == [Kind.CONVERTED]
