"""RM304: a loop that reads dicts from the file of converted code, and may be given a checkpoint of legacy Ray."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import codes, convert, write
from tests.rules.scripts import converted

LOOP = """
from ray.air import Checkpoint, session
from ray.train.torch import TorchTrainer

def loop(config):
    checkpoint = session.get_checkpoint()
    start = {read}
    for epoch in range(start, 3):
        session.report({{"loss": 1.0}}, checkpoint=Checkpoint.from_dict({{"epoch": epoch}}))
"""
READ = 'checkpoint.to_dict()["epoch"] if checkpoint else 0'


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ('resume_from_checkpoint=Checkpoint.from_directory("/old")', True),
        ('resume_from_checkpoint=Checkpoint.from_uri("s3://old")', True),
        ("resume_from_checkpoint=old", True),
        ("resume_from_checkpoint=old if old else None", True),
        ("resume_from_checkpoint=None", False),
        ("resume_from_checkpoint=TorchTrainer(loop).fit().checkpoint", False),
        ("", False),
    ],
)
def test_a_loop_that_may_get_a_dict_of_legacy_ray_is_told(given: str, told: bool) -> None:
    outcome = converted(f"{LOOP.format(read=READ)}\ndef main(old):\n    TorchTrainer(loop, {given}).fit()\n")
    assert [line for line in outcome.lines("RM304", Kind.MANUAL) if line > 0] == (
        outcome.lines("RM304", Kind.CONVERTED) if told else []
    )
    assert any("dict_checkpoint.pkl" in message for message in outcome.messages) is told


def test_a_loop_that_reads_no_dict_is_not_told() -> None:
    trainer = 'TorchTrainer(loop, resume_from_checkpoint=Checkpoint.from_directory("/old")).fit()'
    assert not converted(f"{LOOP.format(read='0')}\n{trainer}\n").lines("RM304", Kind.MANUAL)


@pytest.mark.parametrize("given", ["train_loop_per_worker=loop", "loop"])
def test_a_trainer_in_another_file_may_give_one(tmp_path: Path, given: str) -> None:
    trainer = f"TorchTrainer({given}, resume_from_checkpoint=Checkpoint(sys.argv[1])).fit()"
    imports = (
        "import sys\nfrom loops import loop\nfrom ray.air import Checkpoint\nfrom ray.train.torch import TorchTrainer"
    )
    write(tmp_path, {"loops.py": LOOP.format(read=READ), "main.py": f"{imports}\n\n{trainer}\n"})
    assert "RM304" in codes(convert(tmp_path), Kind.MANUAL, "loops.py")
