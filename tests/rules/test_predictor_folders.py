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


LEFT = """
import sys
import ray
from ray.air.config import ScalingConfig
from ray.train.batch_predictor import BatchPredictor
from ray.train.huggingface import TransformersCheckpoint, TransformersPredictor, TransformersTrainer
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments
from data import ds, kwargs, model


def make(train_dataset, eval_dataset=None, **config):
    return Trainer(model=model, args=TrainingArguments("out"), train_dataset=train_dataset)


{use}
"""
TRAINED = """
trainer = TransformersTrainer(
    make, scaling_config=ScalingConfig(num_workers=2, use_gpu=True), datasets={"train": ray.data.range(8)}
)
checkpoint = trainer.fit().checkpoint
"""
DEEPER = 'The model is in os.path.join(folder, "checkpoint"), inside'
EITHER = "The model is in files, inside"


@pytest.mark.parametrize(
    ("use", "said"),
    [
        (f"{TRAINED}BatchPredictor(checkpoint, TransformersPredictor, **kwargs).predict(ds)", DEEPER),
        (f"{TRAINED}TransformersPredictor.from_checkpoint(checkpoint, **kwargs).predict(ds)", DEEPER),
        ("BatchPredictor(sys.argv[1], TransformersPredictor, **kwargs).predict(ds)", EITHER),
        (
            "c = TransformersCheckpoint.from_model(model, path='x')\n"
            "TransformersPredictor.from_checkpoint(c, **kwargs).predict(ds)",
            "The model is in folder, inside",
        ),
        ("class P(TransformersPredictor):\n    def _predict_pandas(self, data):\n        return data", EITHER),
    ],
)
def test_it_is_told_where_the_model_of_a_pipeline_lies(use: str, said: str) -> None:
    told = [text for text in converted(LEFT.format(use=use)).messages if "Predictor is gone" in text]
    assert len([text for text in told if said in text]) == 1
    assert len([text for text in told if "The model is in" in text]) == 1


def test_what_takes_the_place_of_one_predictor_is_a_pipeline() -> None:
    use = "p = TransformersPredictor.from_checkpoint({}, **kwargs)\n{}"
    messages = converted(LEFT.format(use=use.format("c", "p.pipeline.save_pretrained('x')"))).messages
    (told,) = [text for text in messages if "Load a transformers pipeline" in text]
    assert "That is what its attribute pipeline was." in told and "map_batches" not in told
    messages = converted(LEFT.format(use=use.format("c", "print(p.predict(ds))"))).messages
    (told,) = [text for text in messages if "Load a transformers pipeline" in text]
    assert "Call the pipeline itself where predict() is called" in told and "attribute" not in told
