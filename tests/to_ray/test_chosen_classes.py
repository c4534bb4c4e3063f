"""Trainers whose class the script chooses: one that may be a Trainer of transformers or trl is a training."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted
from tests.test_cli import invoke

HEAD = """\
import os
from transformers import AutoModel, TrainingArguments, Trainer as Plain
class Mine(Plain):
    pass
"""
TRAIN = """\
trainer = T(AutoModel.from_pretrained("bert"), TrainingArguments("out"))
trainer.train()
"""


@pytest.mark.parametrize(
    "choice",
    [
        "try:\n    from trl import SFTTrainer as T\nexcept ImportError:\n    from transformers import Trainer as T\n",
        "try:\n    from trl import SFTTrainer as T\nexcept ImportError:\n    T = Plain\n",
        "if os.environ.get('OWN'):\n    from trl import SFTTrainer as T\nelse:\n    T = Mine\n",
        "T = Mine if os.environ.get('OWN') else Plain\n",
        "T = Mine\nif os.environ.get('PLAIN'):\n    T = Plain\n",
        "T = {'mine': Mine, 'plain': Plain}[os.environ['KIND']]\n",
        "TRAINERS = {'mine': Mine, 'plain': Plain}\nT = TRAINERS.get(os.environ['KIND'])\n",
        "def chosen():\n    if os.environ.get('OWN'):\n        return Mine\n    return Plain\nT = chosen()\n",
        "B = Mine if os.environ.get('OWN') else Plain\nclass T(B):\n    pass\n",
    ],
)
def test_a_class_that_is_chosen_is_a_training(choice: str) -> None:
    text = converted(f"{HEAD}{choice}{TRAIN}", to_ray=True).text
    assert "trainer = TorchTrainer(" in text
    assert choice.splitlines()[0] in text


@pytest.mark.parametrize(
    "choice",
    [
        "try:\n    import lightning as L\n    T = L.Trainer\nexcept ImportError:\n    from fastai import Any as T\n",
        "class One:\n    pass\nclass Other:\n    pass\nT = One if os.environ.get('ONE') else Other\n",
    ],
)
def test_classes_of_others_are_none(choice: str) -> None:
    script = f"{HEAD}{choice}{TRAIN}"
    outcome = converted(script, to_ray=True)
    assert outcome.text == script
    assert not outcome.findings


@pytest.mark.parametrize(
    "choice",
    [
        "from mine import Trainer as T\n",
        "try:\n    from mine import Trainer as T\nexcept ImportError:\n    T = None\n",
    ],
)
def test_a_trainer_of_another_package_is_told_as_such_where_its_import_is_tried_too(choice: str) -> None:
    script = f"{HEAD}{choice}{TRAIN}"
    outcome = converted(script, to_ray=True)
    assert outcome.text == script
    [message] = outcome.messages
    assert "If it is made from transformers.Trainer" in message


def test_a_train_method_without_a_checkpoint_among_them_is_not_handed_one() -> None:
    own = "class Own(Plain):\n    def train(self):\n        super().train()\nT = Own if os.getenv('O') else Plain\n"
    text = converted(f"{HEAD}{own}{TRAIN}", to_ray=True).text
    assert "resume_from_checkpoint" not in text


def test_a_loss_that_only_some_of_them_would_multiply_is_told() -> None:
    choice = (
        "try:\n    from trl import SFTTrainer as T\nexcept ImportError:\n    from transformers import Trainer as T\n"
    )
    train = TRAIN.replace('"out"', '"out", evaluation_strategy="no", gradient_accumulation_steps=2')
    outcome = converted(f"{HEAD}{choice}{train}", to_ray=True)
    assert len(outcome.lines("RM110", Kind.MANUAL)) == 1
    assert "model_accepts_loss_kwargs = False" not in outcome.text


def test_a_class_of_another_file_is_no_choice(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("from transformers import Trainer\nclass T(Trainer):\n    pass\n")
    train = TRAIN.replace('"out"', '"out", evaluation_strategy="no", gradient_accumulation_steps=2')
    script = tmp_path / "train.py"
    script.write_text(f"{HEAD}from own import T\n{train}")
    assert "RM110" in invoke("--to-ray", "--verbose", str(tmp_path)).output
    assert script.read_text().count("trainer.model_accepts_loss_kwargs = False") == 1
