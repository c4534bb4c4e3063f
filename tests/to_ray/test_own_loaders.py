"""Trainers with DataLoaders of their own: what nothing shares out is told, and no batch size named."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome, converted
from tests.test_cli import invoke

SCRIPT = """
from accelerate import Accelerator
from torch.utils.data import DataLoader, DistributedSampler
from transformers import AutoModel, Trainer, TrainingArguments
import job

rows = job.rows()
loader = DataLoader(rows, batch_size=2)


class Base(Trainer):
{base}


class Mine(Base):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.own = DataLoader(rows, batch_size=4)

{methods}


trainer = Mine(AutoModel.from_pretrained("bert"), TrainingArguments("out"), train_dataset=rows)
{after}
trainer.train()
"""
TRAIN = "    def get_train_dataloader(self):\n        "
EVAL = "    def get_eval_dataloader(self, eval_dataset=None):\n        "
SURE = "is not prepared, so that every worker"
UNSEEN = "is not seen to be prepared: if it is not, every worker"


def outcome(methods: str = "", base: str = "    pass", after: str = "", **options: object) -> Outcome:
    found = converted(SCRIPT.format(methods=methods, base=base, after=after), to_ray=True, **options)
    assert "TorchTrainer(" in found.text, found.messages
    return found


@pytest.mark.parametrize(
    ("methods", "base", "after", "state"),
    [
        (f"{TRAIN}return loader", "    pass", "", SURE),
        (f"{TRAIN}return DataLoader(self.train_dataset, batch_size=8)", "    pass", "", SURE),
        (f"{TRAIN}return self.own", "    pass", "", SURE),
        (f"{TRAIN}return loader if rows else super().get_train_dataloader()", "    pass", "", SURE),
        ("", f"{TRAIN}return loader", "", SURE),
        ("", "    pass", "trainer.get_train_dataloader = lambda: loader", SURE),
        ("", "    pass", "def give():\n    return loader\ntrainer.get_train_dataloader = give", SURE),
        (f"{TRAIN}return job.loader(self.train_dataset)", "    pass", "", UNSEEN),
        (f"{EVAL}return loader", "    pass", "", SURE),
        (f"{EVAL.replace('eval', 'test')}return loader", "    pass", "", SURE),
    ],
)  # fmt: skip
def test_a_loader_that_nothing_shares_out_is_told(methods: str, base: str, after: str, state: str) -> None:
    found = outcome(methods, base, after)
    [message] = [message for message in found.messages if "Prepare it: return self.accelerator.prepare" in message]
    assert state in message
    assert len(found.lines("RM806", Kind.MANUAL)) == 1
    is_train = "train" in message.split("()")[0]
    assert any("The batch size of 8 is" in message for message in found.messages) is not is_train
    assert any("DataParallel" in message for message in found.messages) is not is_train


@pytest.mark.parametrize(
    "methods",
    [
        f"{TRAIN}return self.accelerator.prepare(DataLoader(rows))",
        f"{TRAIN}made = DataLoader(rows)\n        return self.accelerator.prepare_data_loader(made)",
        f"{TRAIN}return DataLoader(rows, sampler=DistributedSampler(rows, 2, 0))",
        f"{TRAIN}return DataLoader(rows[self.args.process_index :: self.args.world_size])",
    ],
)
def test_one_that_is_shared_out_is_not(methods: str) -> None:
    found = outcome(methods)
    assert not found.lines("RM806", Kind.MANUAL)
    assert any("The batch size of the loader of get_train_dataloader() is" in message for message in found.messages)


@pytest.mark.parametrize(
    "methods",
    [
        "    def get_loader(self):\n        return loader",
        f"{TRAIN}return super().get_train_dataloader()",
        f"{TRAIN}made = super().get_train_dataloader()\n        print(len(made))\n        return made",
        f"{EVAL}return self.get_train_dataloader()",
    ],
)
def test_the_trainers_own_are_not(methods: str) -> None:
    found = outcome(methods)
    assert not found.lines("RM806", Kind.MANUAL)
    assert any("The batch size of 8 is" in message for message in found.messages)


def test_nor_is_any_for_one_worker() -> None:
    assert not outcome(f"{TRAIN}return loader", workers=1).lines("RM806", Kind.MANUAL)


def test_a_class_of_another_file_is_told_where_its_trainer_is_made(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from torch.utils.data import DataLoader\nfrom transformers import Trainer\n\n\nclass Mine(Trainer):\n"
        f"{TRAIN}return DataLoader(self.train_dataset)\n"
    )
    script = (
        "from own import Mine\nfrom transformers import AutoModel, TrainingArguments\n"
        'trainer = Mine(AutoModel.from_pretrained("bert"), TrainingArguments("out"), train_dataset=rows)\n'
        "trainer.train()\n"
    )
    (tmp_path / "train.py").write_text(script)
    shown = invoke("check", "--to-ray", str(tmp_path)).output
    assert "train.py:3:11: RM806 manual: What get_train_dataloader() returns in line 7 of" in shown
    assert "is not prepared, so that every worker" in shown


BASE = (
    "from torch.utils.data import DataLoader\nfrom transformers import Trainer\n\n\nclass Base(Trainer):\n"
    f"{TRAIN}return DataLoader(self.train_dataset)\n"
)


@pytest.mark.parametrize(
    ("body", "is_told"),
    [("    pass\n", True), (f"{TRAIN}return super(Base, self).get_train_dataloader()\n", False)],
)
def test_so_is_one_whose_base_class_is_in_another_file(body: str, is_told: bool, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(BASE)
    (tmp_path / "train.py").write_text(
        "from own import Base\nfrom transformers import AutoModel, TrainingArguments\n\n\n"
        f"class Mine(Base):\n{body}\n\n"
        'trainer = Mine(AutoModel.from_pretrained("bert"), TrainingArguments("out"), train_dataset=rows)\n'
        "trainer.train()\n"
    )
    shown = invoke("check", "--to-ray", str(tmp_path)).output
    assert ("RM806 manual: What get_train_dataloader() returns in line 7 of" in shown) == is_told, shown
