"""Scripts that never used Ray: the original in processes of its own (arm P), against what it becomes."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from raymigrate.cli import main
from raymigrate.runtime.verify.arms import Arm
from raymigrate.runtime.verify.verification import with_as_many_processes
from tests.conftest import FIXTURES

TRAINER = FIXTURES / "to_ray/module_level"
THREE_EPOCHS = FIXTURES / "to_ray/best_model_early_stopping"  # with a checkpoint after each
ACCELERATE = FIXTURES / "to_ray/accelerate_main_argparse"
LOOP = FIXTURES / "to_accelerate/train_function"
PROVED = "the conversion of a plain script is proved bit for bit"


def verified(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["verify", "--offline", *map(str, arguments)])


@pytest.mark.ray
@pytest.mark.parametrize(("script", "workers"), [(TRAINER, 1), (ACCELERATE, 2)], ids=["trainer", "accelerate"])
def test_on_ray_it_trains_as_before(script: Path, workers: int) -> None:
    outcome = verified("--to-ray", "--workers", workers, script / "before.py")
    assert outcome.exit_code == 0, outcome.output
    assert PROVED in outcome.output
    assert f"number of workers: {workers}" in outcome.output


@pytest.mark.ray
def test_when_a_worker_dies_it_goes_on_from_its_checkpoint_and_ends_the_same() -> None:
    outcome = verified("--to-ray", "--workers", 2, "--kill-worker", THREE_EPOCHS / "before.py")
    assert outcome.exit_code == 0, outcome.output
    told = " ".join(outcome.output.split())
    assert "weights against the undisturbed run: bit-equal" in told
    assert "behind step 16, and the last checkpoint was that of step 16" in told


@pytest.mark.ray
def test_with_accelerate_a_loop_trains_as_before() -> None:
    outcome = verified("--to-accelerate", LOOP / "before.py")
    assert outcome.exit_code == 0, outcome.output
    assert PROVED in outcome.output


WITH_LOADERS = """
import torch
from torch.utils.data import DataLoader, TensorDataset

if __name__ == "__main__":
    torch.manual_seed(0)
    rows = TensorDataset(torch.randn(16, 4), torch.randint(0, 2, (16,)))
    loader = DataLoader(rows, batch_size=4, num_workers=1, multiprocessing_context="spawn")
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
"""


@pytest.mark.ray
def test_a_process_that_loads_data_is_no_worker(tmp_path: Path) -> None:
    """Spawned, it imports torch anew, with the rank of the one that trains in its environment."""
    script = tmp_path / "train.py"
    script.write_text(WITH_LOADERS)
    outcome = verified("--to-accelerate", script)
    assert outcome.exit_code == 0, outcome.output
    assert "runs of the train function: 1" in outcome.output


@pytest.mark.ray
def test_workers_that_train_alone_are_noticed(tmp_path: Path) -> None:
    """The most likely mistake: without use_cpu=True each CPU worker trains a model of its own, on all rows."""
    wrong = tmp_path / "train.py"
    text = (TRAINER / "after.py").read_text()
    assert "        use_cpu=True,\n" in text
    wrong.write_text(text.replace("        use_cpu=True,\n", ""))
    outcome = verified("--to-ray", "--workers", 2, "--device", "cpu", "--original", TRAINER / "before.py", wrong)
    assert outcome.exit_code == 1, outcome.output
    assert "C differs from P at the gate 'contract'" in outcome.output


def test_a_plain_script_is_started_by_torchrun() -> None:
    script = Path("train.py")
    assert Arm("C", script).launcher == []
    assert Arm("P", script, processes=2).launcher[-1] == "--nproc-per-node=2"


@pytest.mark.parametrize(
    ("scaling", "processes"),
    [
        ("ScalingConfig(num_workers=4, use_gpu=False)", 4),
        ("ScalingConfig(None, WORKERS)", 3),
        ("ScalingConfig(num_workers=int(sys.argv[1]))", 1),  # the gate "contract" tells then
    ],
)
def test_the_original_trains_in_as_many_processes_as_there_are_workers(
    scaling: str, processes: int, tmp_path: Path
) -> None:
    script = tmp_path / "train.py"
    text = "from ray.train import ScalingConfig\nfrom torch.utils.data import DataLoader\nWORKERS = 3\n"
    script.write_text(f"{text}loader = DataLoader([], num_workers=7)\nscaling = {scaling}\n")
    arms = with_as_many_processes([Arm("P", Path("old.py"), processes=1), Arm("C", script)])
    assert [arm.processes for arm in arms] == [processes, 0]


def test_what_cannot_go_on_after_a_failure_is_not_killed() -> None:
    outcome = verified("--to-accelerate", "--kill-worker", LOOP / "before.py")
    assert outcome.exit_code == 2
    assert "leave --kill-worker out" in outcome.output


def test_without_the_option_a_plain_script_has_nothing_to_convert() -> None:
    outcome = verified(TRAINER / "before.py")
    assert outcome.exit_code == 2
    assert "has nothing to convert" in outcome.output
