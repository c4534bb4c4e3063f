"""Overrides on Ray's configuration classes, without a cluster; a machine with one GPU is made up."""

from __future__ import annotations

import json
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.verify.test_recorder import run

pytestmark = pytest.mark.ray  # processes that import all of Ray Train and accelerate

ONE_GPU = "import torch; torch.cuda.device_count = lambda: 1\n"
TRAINER = """
from ray.train import ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer
import json
scaling = ScalingConfig(num_workers={workers}, use_gpu=True)
trainer = TorchTrainer(print, torch_config=TorchConfig(), scaling_config=scaling)
config = trainer.scaling_config
print(json.dumps([config.num_workers, config.resources_per_worker, trainer.backend_config.backend]))
"""


def last_line(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(("workers", "share"), [(2, 0.5), (3, 1 / 3)])
def test_workers_share_a_gpu_and_talk_over_gloo(workers: int, share: float, tmp_path: Path) -> None:
    done = run(tmp_path / "run", "-c", ONE_GPU + TRAINER.format(workers=workers), rank=None)
    assert last_line(done) == [workers, {"GPU": share}, "gloo"]


def test_a_worker_with_a_gpu_of_its_own_keeps_what_the_script_says(tmp_path: Path) -> None:
    done = run(tmp_path / "run", "-c", ONE_GPU + TRAINER.format(workers=1), rank=None)
    assert last_line(done) == [1, None, "nccl"]


def test_workers_and_device_of_the_command_line_win(tmp_path: Path) -> None:
    code = ONE_GPU + TRAINER.format(workers=1)
    done = run(tmp_path / "gpu", "-c", code, rank=None, workers=4, device="gpu")
    assert last_line(done) == [4, {"GPU": 0.25}, "gloo"]
    done = run(tmp_path / "cpu", "-c", code, rank=None, workers=4, device="cpu")
    assert last_line(done) == [4, None, "gloo"]


@pytest.mark.parametrize(("precision", "mixed"), [("bf16", "bf16"), ("fp32", "no")])
def test_precision_of_the_command_line_wins(precision: str, mixed: str, tmp_path: Path) -> None:
    code = (
        "import json; from accelerate import Accelerator; from transformers import TrainingArguments\n"
        "arguments = TrainingArguments('out', use_cpu=True, bf16={other})\n"
        "print(json.dumps([arguments.bf16, Accelerator(cpu=True, mixed_precision={mixed!r}).mixed_precision]))"
    )
    code = code.format(other=precision != "bf16", mixed="no" if precision == "bf16" else "bf16")
    done = run(tmp_path / "run", "-c", code, rank=None, precision=precision)
    assert last_line(done) == [precision == "bf16", mixed]


@pytest.mark.parametrize("module", ["ray.train", "ray.tune"])
def test_results_go_to_the_folder_of_the_arm(module: str, tmp_path: Path) -> None:
    code = f"import json; from {module} import RunConfig; print(json.dumps(RunConfig(name='bert').storage_path))"
    done = run(tmp_path / "run", "-c", code, rank=None)
    assert last_line(done) == str(tmp_path / "run" / "storage")


def test_results_are_found_where_a_script_puts_them_in_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the stand-in makes below the folder of the arm stays, and so do results that are there already."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "run").touch()
    (tmp_path / "empty").mkdir()
    code = (
        "import json, os; from ray.train import RunConfig\n"
        "names = 'new/results', 'old', 'empty', '{storage}/experiment'\n"
        "found = [RunConfig(storage_path=os.path.abspath(name)).storage_path for name in names]\n"
        "print(json.dumps([found, [os.path.islink(name) for name in names]]))"
    )
    storage = str(tmp_path / "run" / "storage")
    done = run(tmp_path / "run", "-c", code.format(storage=storage), rank=None)
    assert last_line(done) == [[storage, storage, storage, f"{storage}/experiment"], [True, False, True, False]]


def test_workers_on_one_gpu_do_not_name_another(tmp_path: Path) -> None:
    """accelerate takes a worker's number for that of its GPU."""
    code = """
    import json, torch, types
    from torch import distributed
    from raymigrate_recorder import overrides
    torch.cuda.is_available = distributed.is_initialized = lambda: True
    torch.cuda.device_count, torch.cuda.current_device = lambda: 1, lambda: 0
    distributed.get_backend = lambda: "gloo"

    class PartialState:
        def _prepare_backend(self, cpu, sagemaker, backend=None):
            return "nccl", "MULTI_GPU"

    fake = types.SimpleNamespace(barrier=lambda **kwargs: kwargs, PartialState=PartialState)
    overrides._barrier_on_a_shared_gpu(fake)
    overrides._backend_of_accelerate(fake)
    models = [{"device_ids": ids, "output_device": None} for ids in ([0], [1], None)]
    for model in models:
        overrides._own_device(None, model)
    barriers = [fake.barrier(device_ids=ids)["device_ids"] for ids in ([0], [1])]
    kept = [model["device_ids"] for model in models]
    print(json.dumps([kept, barriers, PartialState()._prepare_backend(False, False)]))
    """
    done = run(tmp_path / "run", "-c", textwrap.dedent(code))
    assert last_line(done) == [[[0], [0], None], [[0], None], ["gloo", "MULTI_GPU"]]


@pytest.mark.parametrize(("resources", "refused"), [(None, False), ({"GPU": 0.5}, True)])
def test_the_old_trainer_refuses_only_what_the_script_says(
    resources: dict[str, float] | None, refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAYMIGRATE_STANDIN", "2.6")
    code = f"""
    import json
    from ray.air.config import ScalingConfig
    from ray.train.huggingface import TransformersTrainer
    scaling = ScalingConfig(num_workers=2, use_gpu=True, resources_per_worker={resources})
    try:
        TransformersTrainer(lambda train, evaluation, **config: None, scaling_config=scaling)
        print(json.dumps(""))
    except ValueError as error:
        print(json.dumps(str(error)))
    """
    done = run(tmp_path / "run", "-c", ONE_GPU + textwrap.dedent(code), rank=None)
    assert ("fractional GPUs" in last_line(done)) == refused
