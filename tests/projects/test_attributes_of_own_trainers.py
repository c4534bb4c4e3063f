"""RM723: attributes of a Trainer whose class another file of the project makes."""

from pathlib import Path

import pytest

from raymigrate.base.options import Options
from raymigrate.run.job import Job
from tests.projects.files import convert, write

OWN = """
from transformers import Trainer


class Own(Trainer):
    {body}
"""
TRAIN = """
from transformers import AutoModel, TrainingArguments
from data import rows
{imported}

trainer = {made}(model=AutoModel.from_pretrained("bert"), args=TrainingArguments("out"), train_dataset=rows)
trainer.train()
{reads}
"""
LOSS = "def compute_loss(self, model, inputs, return_outputs=False, **kwargs):\n        return 0"
KEEPS = "def __init__(self, tokenizer=None, **kwargs):\n        super().__init__(**kwargs)\n        self.tokenizer = {}"
SAVES = 'trainer.tokenizer.save_pretrained("out")'


@pytest.mark.parametrize(
    ("body", "reads", "new"),
    [
        (LOSS, SAVES, "trainer.processing_class.save_pretrained("),
        (LOSS, "if trainer.is_world_master():\n    print(1)", "trainer.is_world_process_zero()"),
        ("tokenizer = None", SAVES, ""),
        (KEEPS.format("tokenizer"), SAVES, ""),
    ],
)
def test_it_has_those_of_today_unless_the_class_has_them(body: str, reads: str, new: str, tmp_path: Path) -> None:
    """prepare_trainer() gives the Trainer that it gets: where the class has an attribute a second run sees so too."""
    train = TRAIN.format(imported="from own import Own", made="Own", reads=reads)
    write(tmp_path, {"own.py": OWN.format(body=body), "train.py": train})
    convert(tmp_path, job=Job(Options(to_ray=True)))
    text = (tmp_path / "train.py").read_text()
    assert "TorchTrainer(" in text and "prepare_trainer(trainer)" in text
    assert (new or reads.partition("(")[0]) in text


def test_the_class_may_be_an_attribute_of_its_module(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"own.py": OWN.format(body=LOSS), "train.py": TRAIN.format(imported="import own", made="own.Own", reads=SAVES)},
    )
    convert(tmp_path, job=Job(Options(to_ray=True)))
    assert "trainer.processing_class.save_pretrained(" in (tmp_path / "train.py").read_text()
