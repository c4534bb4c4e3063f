"""RM693: arguments of a method whose object is of a class that another file makes from one of a library."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import codes, convert, write

JOB = """
import ray
from ray.air import ScalingConfig
from ray.train.torch import TorchTrainer
from transformers import TrainingArguments
{imported}


def loop(config):
    trainer = {made}(None, TrainingArguments("out"))
    trainer.train(model_path=config["start"])


TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=1)).fit()
"""
OWN = "from transformers import Trainer\n\n\nclass Own(Trainer):\n    {}\n"
TAKES = "def train(self, model_path=None):\n        return super().train()"


def told(folder: Path, own: str, imported: str = "from own import Own", made: str = "Own", **more: str) -> bool:
    others = {f"{name}.py": text for name, text in more.items()}
    write(folder, {"own.py": own, "job.py": JOB.format(imported=imported, made=made), **others})
    return "RM693" in codes(convert(folder), Kind.MANUAL, "job.py")


@pytest.mark.parametrize(
    ("imported", "made"),
    [
        ("from own import Own", "Own"),
        ("import own", "own.Own"),
        ("from own import Own as Mine", "Mine"),
        ("from own import *", "Own"),
    ],
)
def test_it_is_known_by_its_class(imported: str, made: str, tmp_path: Path) -> None:
    assert told(tmp_path, OWN.format("pass"), imported, made)


def test_the_class_may_be_made_from_one_of_a_third_file(tmp_path: Path) -> None:
    own = "from base import Base\n\n\nclass Own(Base):\n    pass\n"
    assert told(tmp_path, own, base=OWN.format("pass").replace("Own", "Base"))


@pytest.mark.parametrize(
    "own", [OWN.format(TAKES), "class Own:\n    pass\n", "from base import Base\n\n\nclass Own(Base):\n    pass\n"]
)
def test_a_class_with_its_own_method_or_another_base_is_not_told(own: str, tmp_path: Path) -> None:
    assert not told(tmp_path, own, base=OWN.format(TAKES).replace("Own", "Base"))


def test_classes_that_are_made_from_each_other_end(tmp_path: Path) -> None:
    own = "from base import Base\n\n\nclass Own(Base):\n    pass\n"
    assert not told(tmp_path, own, base="from own import Own\n\n\nclass Base(Own):\n    pass\n")
