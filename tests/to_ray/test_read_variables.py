"""RM820, RM806: environment variables of the user's own that workers read, and that a running cluster does not have."""

from pathlib import Path

import pytest

from tests.rules.scripts import converted
from tests.test_cli import invoke

ACCELERATE = """
import os
from os import environ, getenv
from accelerate import Accelerator
{before}
def train():
    accelerator = Accelerator()
    {inside}
    model, optimizer, loader = accelerator.prepare(*make())
    for batch in loader:
        accelerator.backward(model(batch).mean())
        optimizer.step()
train()
"""
READ = "read by the workers"


def told(before: str = "", inside: str = "pass", script: str = ACCELERATE) -> list[str]:
    """The variables that the workers are said to lack."""
    outcome = converted(script.format(before=before, inside=inside), to_ray=True)
    assert "TorchTrainer(" in outcome.text
    return [message.partition(":")[0] for message in outcome.messages if READ in message]


@pytest.mark.parametrize(
    "read",
    [
        'fold = os.environ["FOLD"]',
        'fold = int(os.environ.get("FOLD", "0"))',
        'fold = os.getenv("FOLD")',
        'fold = getenv("FOLD") or environ["FOLD"]',
        'fold = 1 if "FOLD" in os.environ else 0',
    ],
)
def test_what_the_workers_read_is_told(read: str) -> None:
    assert told(inside=read) == ["FOLD"]
    assert told(f"def fold():\n    {read}\n    return fold", "use(fold())") == ["FOLD"]


def test_several_are_told_together() -> None:
    assert told(inside='use(os.environ["FOLD"], os.getenv("DATA_DIR"), os.environ["FOLD"])') == ["FOLD, DATA_DIR"]


def test_in_a_script_with_a_trainer() -> None:
    script = """
import os
from transformers import Trainer, TrainingArguments
{before}
trainer = Trainer(make(), TrainingArguments("out"), train_dataset=rows({inside}))
trainer.train()
"""
    assert told(inside='os.environ["FOLD"]', script=script) == ["FOLD"]
    assert told('FOLD = os.environ.get("FOLD")', "FOLD", script) == []


@pytest.mark.parametrize(
    ("before", "inside"),
    [
        ('FOLD = int(os.environ.get("FOLD", "0"))', "use(FOLD)"),  # the driver reads it
        ('os.environ["FOLD"] = "1"', 'use(os.environ["FOLD"])'),
        ("", 'os.environ.setdefault("FOLD", "1"); use(os.environ["FOLD"])'),
        ("", 'use(os.environ["HOME"], os.getenv("HF_TOKEN"), os.environ.get("CUDA_HOME"), os.getenv("PATH"))'),
        ("", 'use(os.environ["LOCAL_RANK"], os.getenv("WANDB_PROJECT"), os.environ.get("SLURM_JOB_ID"))'),
        ("", 'use({"FOLD": 1}["FOLD"], settings.get("FOLD"))'),
        ('def unused():\n    return os.environ["FOLD"]', "pass"),
    ],
)
def test_what_is_not_told(before: str, inside: str) -> None:
    assert told(before, inside) == []


def test_a_function_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "folds.py").write_text('import os\n\n\ndef fold():\n    return os.environ["FOLD"]\n')
    script = tmp_path / "train.py"
    script.write_text(f"from folds import fold\n{ACCELERATE.format(before='', inside='use(fold())')}")
    result = invoke("--to-ray", "--isolated", tmp_path)
    assert "RM820 note: FOLD: read by the workers" in result.output


@pytest.mark.parametrize(
    ("inside", "name"),
    [
        ('use(int(os.environ["SLURM_PROCID"]))', "SLURM_PROCID"),
        ('use(os.environ.get("SLURM_LOCALID", "0"))', "SLURM_LOCALID"),
        ('use(getenv("OMPI_COMM_WORLD_LOCAL_RANK"))', "OMPI_COMM_WORLD_LOCAL_RANK"),
        ('use("PMI_SIZE" in environ)', "PMI_SIZE"),
        ('os.environ["SLURM_PROCID"] = "0"; use(os.environ["SLURM_PROCID"])', ""),
        ('use(os.environ["SLURM_CPUS_PER_TASK"], os.environ["SLURM_NODELIST"])', ""),  # as the machine has them
    ],
)
def test_a_place_that_srun_or_mpirun_gives_its_processes(inside: str, name: str) -> None:
    outcome = converted(ACCELERATE.format(before="", inside=inside), to_ray=True)
    places = [message for message in outcome.messages if "srun or mpirun gives each of its processes" in message]
    assert [message.partition(":")[0] for message in places] == ([name] if name else [])
