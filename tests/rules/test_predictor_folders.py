"""RM603: the folder of a BatchPredictor's checkpoint, whose files legacy Ray took along when the predictor was made."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import os
import shutil
import tempfile
import ray
from ray.air import Checkpoint
from ray.train.batch_predictor import BatchPredictor
from ray.train.huggingface import TransformersPredictor
from data import ds, fill
"""
MADE = 'predictor = BatchPredictor.from_checkpoint({}, TransformersPredictor, task="text-classification")'
PREDICTS = "print(predictor.predict(ds, batch_size=1).take(1))"
IN_TMP = MADE.format("Checkpoint.from_directory(tmp)")
IN_OBJECT = MADE.format("Checkpoint.from_directory(folder.name)")
IN_OUT = MADE.format('Checkpoint.from_directory("out")')
GONE = "which is gone when predict() is called"


def lines(*script: str) -> str:
    return "\n".join((HEAD, *script, ""))


@pytest.mark.parametrize(
    "script",
    [
        lines("with tempfile.TemporaryDirectory() as tmp:", "    fill(tmp)", f"    {IN_TMP}", PREDICTS),
        lines(
            "with tempfile.TemporaryDirectory() as tmp:",
            '    path = os.path.join(tmp, "model")',
            f"    {MADE.format('Checkpoint.from_directory(path)')}",
            PREDICTS,
        ),
        lines("folder = tempfile.TemporaryDirectory()", IN_OBJECT, "folder.cleanup()", PREDICTS),
        lines("folder = tempfile.TemporaryDirectory()", IN_OBJECT, "shutil.rmtree(folder.name)", PREDICTS),
        lines("tmp = tempfile.mkdtemp()", IN_TMP, "shutil.rmtree(tmp)", PREDICTS),
        lines(IN_OUT, 'shutil.rmtree("out", ignore_errors=True)', PREDICTS),
        lines(IN_OUT, 'shutil.rmtree(os.path.abspath("out"))', PREDICTS),
        lines("def run(tmp):", f"    {IN_TMP}", '    shutil.move(tmp, "old")', f"    {PREDICTS}"),
        lines(
            "tmp = tempfile.mkdtemp()",
            "checkpoint = Checkpoint.from_directory(tmp)",
            MADE.format("checkpoint"),
            "for ds in parts:",
            f"    {PREDICTS}",
            "    shutil.rmtree(tmp)",
        ),
    ],
)
def test_a_folder_that_is_gone_before_the_predictions_is_told(script: str) -> None:
    outcome = converted(script, unsafe=True)
    assert any(GONE in message for message in outcome.messages)
    assert len(outcome.lines("RM603", Kind.MANUAL)) == 2
    assert "map_batches" not in outcome.text


@pytest.mark.parametrize(
    "script",
    [
        lines("with tempfile.TemporaryDirectory() as tmp:", f"    {IN_TMP}", f"    {PREDICTS}"),
        lines("tmp = tempfile.mkdtemp()", "shutil.rmtree(tmp)", "fill(tmp)", IN_TMP, PREDICTS),
        lines("tmp = tempfile.mkdtemp()", IN_TMP, PREDICTS, "shutil.rmtree(tmp)"),
        lines("folder = tempfile.TemporaryDirectory()", IN_OBJECT, PREDICTS, "folder.cleanup()"),
        lines(IN_OUT, 'shutil.rmtree("other")', PREDICTS),
        lines("tmp = tempfile.mkdtemp()", IN_TMP, 'shutil.rmtree(os.path.join(tmp, "logs"))', PREDICTS),
        lines("tmp, other = tempfile.mkdtemp(), tempfile.mkdtemp()", IN_TMP, "shutil.rmtree(other)", PREDICTS),
        lines("for tmp in folders:", f"    {IN_TMP}", f"    {PREDICTS}", "    shutil.rmtree(tmp)"),
    ],
)
def test_one_that_lasts_is_read(script: str) -> None:
    outcome = converted(script, unsafe=True)  # nobody knows of a preprocessor
    assert not any(GONE in message for message in outcome.messages)
    assert "map_batches" in outcome.text
