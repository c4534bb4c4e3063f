"""Callbacks by which each worker decides for itself to stop, save or evaluate: the others wait for it (RM806)."""

from pathlib import Path

import pytest

from tests.projects.files import write
from tests.rules.scripts import converted
from tests.test_cli import invoke

CALLBACK = """
import os
import time
from pathlib import Path
import torch
from transformers import TrainerCallback


def is_late():
    return time.monotonic() > 5


class Stop(TrainerCallback):
    def __init__(self):
        self.end = time.time() + 9

    def is_over(self):
        return time.time() > self.end

    def on_step_end(self, args, state, control, **kwargs):
        {line}
"""
SCRIPT = """
import job
from transformers import AutoModel, Trainer, TrainingArguments

trainer = Trainer(
    AutoModel.from_pretrained("bert"), TrainingArguments("/out"), train_dataset=job.data, callbacks=[Stop()]
)
trainer.train()
"""
STOP = "control.should_training_stop = True"
SAID = "Each worker decides for itself whether it "


def told(line: str, **options: object) -> list[str]:
    outcome = converted(CALLBACK.format(line=line) + SCRIPT, to_ray=True, **options)
    assert "TorchTrainer(" in outcome.text, outcome.messages
    return [message for message in outcome.messages if message.startswith(SAID)]


@pytest.mark.parametrize(
    ("line", "does"),
    [
        (f"if time.time() > self.end:\n            {STOP}", "stops"),
        (f"if self.is_over():\n            {STOP}", "stops"),
        (f"if is_late():\n            {STOP}", "stops"),
        ("control.should_training_stop = os.path.exists('STOP')", "stops"),
        (f"late = time.time() - self.end\n        if late > 0 and state.epoch:\n            {STOP}", "stops"),
        (f"if not Path('stop').exists():\n            return control\n        {STOP}", "stops"),
        ("if state.is_world_process_zero:\n            control.should_save = True", "saves"),
        ("if torch.distributed.get_rank() == 0:\n            control.should_save = True", "saves"),
        ("if time.time() > self.end:\n            control.should_evaluate = True", "evaluates"),
        ("control.should_save = args.should_save", "saves"),
        ("control.should_save = args.should_save and state.global_step % 9 == 0", "saves"),
        ("if args.local_process_index == 0 or state.epoch > 2:\n            control.should_save = True", "saves"),
        ("first = args.should_save\n        if first:\n            control.should_save = True", "saves"),
    ],
)
def test_what_each_worker_decides_is_told(line: str, does: str) -> None:
    [message] = told(line)
    assert message.startswith(f"{SAID}{does}, by the time, the disk or its rank")
    assert not told(line, workers=1)


@pytest.mark.parametrize(
    "line",
    [
        f"if state.global_step > 5:\n            {STOP}",
        f"if time.time() > self.end:\n            print(1)\n        if state.epoch > 2:\n            {STOP}",
        "late = torch.tensor(time.time() > self.end)\n        torch.distributed.broadcast(late, 0)\n"
        f"        if late or time.time() < 0:\n            {STOP}",
        "control.should_save = control.should_save or state.epoch > 2",
        f"job = state\n        if time.time() > self.end:\n            job.stop()\n        {STOP}",
    ],
)
def test_what_is_the_same_for_all_is_not(line: str) -> None:
    assert not told(line)


def test_a_callback_of_another_file_is_told_at_the_training(tmp_path: Path) -> None:
    line = f"if self.is_over():\n            {STOP}"
    script = f"from stopping import Stop\n{SCRIPT}"
    files = {"pyproject.toml": "", "train.py": script, "stopping.py": CALLBACK.format(line=line)}
    write(tmp_path, files)
    said = " ".join(invoke("--to-ray", "--workers", "2", tmp_path / "train.py").stdout.split())
    assert "Each worker decides for itself in line 21 of " in said
    assert "stopping.py whether it stops" in said
