"""The stand-in for the old trainers: old names at old paths, old arguments, old checkpoints, on current Ray.

It changes Ray's modules, so that everything runs in processes of its own.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.ray  # processes that import all of Ray and transformers

INJECT = Path(__file__).parents[2] / "raymigrate" / "runtime" / "inject"
HEAVY = ("ray", "torch", "transformers", "accelerate", "datasets", "pandas", "pyarrow", "numpy", "yaml", "raymigrate")

# What `raymigrate verify` has for it: a sitecustomize with import hooks, for the driver and the workers.
SITECUSTOMIZE = """
import importlib.abc
import sys

hooks = {}


def after(name):
    return lambda patch: hooks.setdefault(name, []).append(patch)


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name not in hooks:
            return None
        others = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
        spec = next((spec for spec in others if spec is not None), None)
        if spec is not None:
            execute = spec.loader.exec_module

            def executed(module):
                execute(module)
                for patch in hooks[name]:
                    patch(module)

            spec.loader.exec_module = executed
        return spec


sys.meta_path.insert(0, Finder())
import raymigrate_standin
raymigrate_standin.install(after)
"""


def run(code: str, folder: Path, *, timeout: float = 120, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a script under the stand-in."""
    (folder / "sitecustomize.py").write_text(SITECUSTOMIZE, encoding="utf-8")
    script = folder / "script.py"
    script.write_text(code, encoding="utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(folder), str(INJECT))),
        "HOME": str(folder),
        "CUDA_VISIBLE_DEVICES": "",
        **variables,
    }
    command = [sys.executable, str(script)]
    return subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, timeout=timeout, check=False
    )


def results_of(code: str, folder: Path) -> dict[str, Any]:
    """What a script collects in its dict `results`."""
    done = run(f"results = {{}}\n{code}\nimport json\nprint(json.dumps(results, default=str))", folder)
    assert done.returncode == 0, done.stderr
    loaded: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return loaded


def test_it_starts_without_anything_heavy(tmp_path: Path) -> None:
    code = f"import sys\nresults['loaded'] = [name for name in {HEAVY} if name in sys.modules]"
    assert results_of(code, tmp_path) == {"loaded": []}


IMPORTS = """
from ray.train.huggingface import AccelerateTrainer, HuggingFaceCheckpoint, HuggingFaceTrainer, TransformersTrainer
from ray.train.huggingface import TransformersCheckpoint
from ray.train.huggingface.accelerate import AccelerateTrainer as accelerate_24
from ray.train.huggingface.accelerate.accelerate_trainer import AccelerateTrainer as accelerate_path
from ray.train.huggingface.huggingface_checkpoint import HuggingFaceCheckpoint as checkpoint_path
from ray.train.huggingface.huggingface_trainer import HuggingFaceTrainer as trainer_path
from ray.train.huggingface.transformers import TransformersTrainer as trainer_25, prepare_trainer
from ray.train.huggingface.transformers.transformers_checkpoint import TransformersCheckpoint as checkpoint_25
from ray.train.huggingface.transformers.transformers_trainer import TransformersTrainer as trainer_25_path
import ray.air.session as session_module
from ray import air
from ray.air import Checkpoint, CheckpointConfig, DatasetConfig, FailureConfig, RunConfig, ScalingConfig, session
from ray.air.callbacks.wandb import WandbLoggerCallback
from ray.air.checkpoint import Checkpoint as checkpoint_module
from ray.air.config import DatasetConfig as dataset_config
from ray.data.preprocessors import BatchMapper, Chain
from ray.data.preprocessors.batch_mapper import BatchMapper as mapper_path
from ray.train.torch import TorchTrainer
import ray.train.torch

results["same"] = [
    AccelerateTrainer is accelerate_24 is accelerate_path,
    HuggingFaceCheckpoint is checkpoint_path,
    HuggingFaceTrainer is trainer_path,
    TransformersTrainer is trainer_25 is trainer_25_path,
    TransformersCheckpoint is checkpoint_25,
    session is session_module is air.session,
    Checkpoint is checkpoint_module is air.Checkpoint,
    DatasetConfig is dataset_config is air.config.DatasetConfig,
    BatchMapper is mapper_path,
    issubclass(HuggingFaceTrainer, TransformersTrainer) and issubclass(AccelerateTrainer, TorchTrainer),
    ray.train.torch.TorchTrainer is TorchTrainer,
]
results["rank"] = session.get_world_rank(), session.get_world_size(), session.get_dataset_shard("train")


def refusal(statement):
    try:
        exec(statement)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


results["refused"] = [
    refusal(f"from {module} import {name}")
    for module, name in (
        ("ray.train.huggingface", "TransformersPredictor"),
        ("ray.train.batch_predictor", "BatchPredictor"),
        ("ray.data", "DatasetPipeline"),
        ("ray.ml.train.integrations.huggingface", "HuggingFaceTrainer"),
    )
]
results["unknown"] = refusal("from ray.train.huggingface import NoSuchTrainer")
results["unknown module"] = refusal("import ray.train.huggingface.no_such_module")
"""


def test_old_names_are_importable_and_others_are_refused(tmp_path: Path) -> None:
    results = results_of(IMPORTS, tmp_path)
    assert all(results["same"]), results["same"]
    assert results["rank"] == [0, 1, None]  # outside of a worker, as it was
    for refused in results["refused"]:
        assert "--arms A,O" in refused, refused
    assert results["unknown"].startswith("ImportError: cannot import name 'NoSuchTrainer'")
    assert results["unknown module"].startswith("ModuleNotFoundError: No module named")


CONFIGS = """
import ray.air
import ray.train
from ray.air import CheckpointConfig, DatasetConfig, FailureConfig, RunConfig, ScalingConfig
from ray.train.huggingface import AccelerateTrainer, TransformersTrainer
from ray.train.torch import TorchTrainer
from ray.tune import SyncConfig


def init(train, evaluation, **config):
    pass


def loop(config=None):
    return config


trainer = TransformersTrainer(
    init,
    trainer_init_config={"lr": 1},
    scaling_config=ScalingConfig(trainer_resources={"CPU": 0}, num_workers=2, _max_cpu_fraction_per_node=0.8),
    run_config=RunConfig(
        "job",
        "results",
        verbose=1,
        stop={"training_iteration": 3},
        callbacks=[object()],
        sync_config=None,
        failure_config=FailureConfig(max_failures=2, fail_fast=False),
        checkpoint_config=CheckpointConfig(1, "eval_loss", "min", checkpoint_frequency=0, checkpoint_at_end=True),
    ),
    datasets={},
)
run = trainer.run_config
results["classes"] = [isinstance(run, ray.train.RunConfig), isinstance(trainer.scaling_config, ray.train.ScalingConfig)]
results["run"] = [run.name != "job", run.storage_path, run.callbacks, run.failure_config.max_failures]
kept = run.checkpoint_config
results["checkpoints"] = [kept.num_to_keep, kept.checkpoint_score_attribute, kept.checkpoint_score_order]
results["job"] = [trainer.job.experiment, trainer.job.trainer_resources, trainer.job.stop]
results["workers"] = trainer.scaling_config.num_workers

current = TorchTrainer(
    loop,
    scaling_config={"num_workers": 3},
    run_config=ray.train.RunConfig(name="job", verbose=0, local_dir="~/here", log_to_file=True),
)
results["current"] = [current.scaling_config.num_workers, current.run_config.storage_path, current.job.experiment]

accelerate = AccelerateTrainer(
    loop,
    train_loop_config={"lr": 2},
    accelerate_config={"mixed_precision": "bf16"},
    scaling_config=ScalingConfig(num_workers=1),
)
sync = SyncConfig(upload_dir="file:///bucket", syncer="auto")
synced = TorchTrainer(loop, run_config=RunConfig("experiment", sync_config=sync))
results["synced"] = synced.run_config.storage_path
results["called with"] = accelerate.train_loop_per_worker()


def refusal(make):
    try:
        make()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def subclass():
    class Mine(TransformersTrainer):
        def training_loop(self):
            pass


results["refused"] = {
    "arity": refusal(lambda: TransformersTrainer(lambda train, evaluation: None)),
    "reserved": refusal(lambda: TransformersTrainer(init, trainer_init_config={"_trainer_init_per_worker": 1})),
    "gpus": refusal(
        lambda: TransformersTrainer(
            init, scaling_config=ScalingConfig(num_workers=1, use_gpu=True, resources_per_worker={"GPU": 2})
        )
    ),
    "dataset": refusal(lambda: TransformersTrainer(init, datasets={"train": [1]})),
    "loop": refusal(lambda: TorchTrainer(lambda a, b: None)),
    "accelerate": refusal(lambda: AccelerateTrainer(loop, accelerate_config={"split_batches": True})),
    "stream": refusal(lambda: DatasetConfig(use_stream_api=True)),
    "stopper": refusal(lambda: TorchTrainer(loop, run_config=RunConfig(stop=lambda trial, result: True))),
    "restore": refusal(lambda: TransformersTrainer.restore("path")),
    "hook": refusal(subclass),
    "tuner": refusal(lambda: __import__("ray.tune").tune.Tuner(current)),
}

from raymigrate_standin.air_config import split_names
from transformers import TrainingArguments

from ray.train import DataConfig

whole = TransformersTrainer(init, dataset_config=DataConfig(), datasets={})
split = whole._data_config(DataConfig(), ["train", "evaluation"])._datasets_to_split
results["evaluation is split"] = "evaluation" in split
results["split"] = [
    split_names(None, ["train", "evaluation"]),
    split_names({"train": DatasetConfig(split=False), "*": DatasetConfig(split=True)}, ["train", "evaluation"]),
    split_names({"evaluation": DatasetConfig(fit=True)}, ["train", "evaluation"]),
]
import os

results["splits"] = []
for version in ("1", "2.6", "2.7", "2.10"):
    os.environ["RAYMIGRATE_STANDIN"] = version
    results["splits"].append(AccelerateTrainer._data_config(whole, None, ["train", "valid"])._datasets_to_split)
results["splits"].append(AccelerateTrainer._data_config(whole, {}, ["train", "valid"])._datasets_to_split)
results["averaged"] = TrainingArguments("out").average_tokens_across_devices
"""


def test_old_arguments_are_translated_or_refused(tmp_path: Path) -> None:
    results = results_of(CONFIGS, tmp_path)
    assert results["classes"] == [True, True]
    assert results["run"] == [True, str(tmp_path / "results" / "job"), [], 2]
    assert results["checkpoints"] == [1, "eval_loss", "min"]
    assert results["job"] == ["job", {"CPU": 0}, {"training_iteration": 3}]
    assert results["workers"] == 2
    assert results["current"] == [3, str(tmp_path / "here" / "job"), "job"]
    assert results["synced"] == "file:///bucket/experiment"
    assert results["evaluation is split"] is False
    assert results["called with"] == {"lr": 2}  # though the parameter has a default
    assert results["split"] == [["train"], ["evaluation"], ["train"]]
    assert results["splits"] == [["train"], ["train"], "all", "all", ["train"]]  # the last has a preprocessor
    assert results["averaged"] is False

    refused = results["refused"]
    beginnings = {
        "arity": "ValueError: trainer_init_per_worker should take in at least 3 arguments, but it accepts 2",
        "reserved": "ValueError: '_trainer_init_per_worker' is a reserved key",
        "gpus": "ValueError: You have assigned 2 GPUs per worker.",
        "dataset": "ValueError: The Dataset under 'train' key is not a `ray.data.Dataset`.",
        "loop": "ValueError: train_loop_per_worker should take in 0 or 1 arguments",
        "accelerate": "TypeError: ClusterConfig.__init__() got an unexpected keyword argument 'split_batches'",
        "stream": "NotImplementedError: DatasetConfig(use_stream_api=) is not known",
        "stopper": "NotImplementedError: RunConfig(stop=) with a function",
        "restore": "NotImplementedError: TransformersTrainer.restore() is not known",
        "hook": "NotImplementedError: A subclass of the old trainers with its own training_loop() is not known",
        "tuner": "NotImplementedError: Tuner(trainer) is not known",
    }
    assert refused.keys() == beginnings.keys()
    for name, beginning in beginnings.items():
        assert refused[name].startswith(beginning), refused[name]


CHECKPOINTS = """
import pickle
from pathlib import Path

import ray.train
from ray.air import Checkpoint
from ray.train.huggingface import TransformersCheckpoint

data = {"epoch": 3, "weights": [1.0, 2.0]}
checkpoint = Checkpoint.from_dict(data)
results["from dict"] = checkpoint.to_dict() == data
results["pickled"] = pickle.loads(pickle.dumps(checkpoint)).to_dict() == data
results["bytes"] = Checkpoint.from_bytes(checkpoint.to_bytes()).to_dict() == data
with checkpoint.as_directory() as folder:
    results["files"] = [path.name for path in Path(folder).iterdir()]
results["removed"] = not Path(folder).exists()
stored = Checkpoint.from_directory(checkpoint.to_directory("stored"))
results["stored"] = stored.to_dict() == data and isinstance(stored, ray.train.Checkpoint)
results["uri"] = Checkpoint.from_uri(stored.uri).to_dict() == data
results["of a result"] = Checkpoint.from_checkpoint(ray.train.Checkpoint.from_directory("stored")).to_dict() == data
Path("folder").mkdir()
try:
    Checkpoint.from_directory("folder").to_dict()
except NotImplementedError as error:
    results["folder"] = str(error)

import torch

model = torch.nn.Linear(2, 1)
saved = TransformersCheckpoint.from_model(model, path="folder")
other = saved.get_model(torch.nn.Linear(2, 1))
results["model"] = all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters()))
results["arguments"] = saved.get_training_arguments()
"""


def test_a_checkpoint_gives_back_what_was_put_in(tmp_path: Path) -> None:
    results = results_of(CHECKPOINTS, tmp_path)
    assert results.pop("files") == ["dict_checkpoint.pkl"]
    assert "--arms A,O" in results.pop("folder")
    assert results.pop("arguments") is None
    assert results and all(results.values()), results


@pytest.fixture
def accelerate_environment(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(INJECT))
    import raymigrate_standin.accelerate_environment as module  # noqa: PLC0415 - found since the line above

    return module


def test_accelerate_config_becomes_environment_variables(accelerate_environment: Any, tmp_path: Path) -> None:
    read, environment = accelerate_environment.read_config, accelerate_environment.environment
    on_cpu = environment(read({"mixed_precision": "bf16", "distributed_type": "FSDP"}), use_gpu=False)
    assert on_cpu["ACCELERATE_USE_CPU"] == "true"
    assert on_cpu["ACCELERATE_MIXED_PRECISION"] == "bf16"
    assert on_cpu["ACCELERATE_DYNAMO_BACKEND"] == "NO"
    assert not any(name.startswith("FSDP") for name in on_cpu)

    section = {"sharding_strategy": 2, "fsdp_min_num_params": 1e8, "fsdp_backward_prefetch_policy": "NO_PREFETCH"}
    sharded = environment(read({"distributed_type": "FSDP", "fsdp_config": section}), use_gpu=True)
    assert sharded["ACCELERATE_USE_FSDP"] == "true"
    assert sharded["FSDP_SHARDING_STRATEGY"] == "2"
    assert sharded["FSDP_MIN_NUM_PARAMS"] == "100000000"
    assert sharded["FSDP_BACKWARD_PREFETCH"] == "NO_PREFETCH"

    path = tmp_path / "config.yaml"
    path.write_text(
        "distributed_type: DEEPSPEED\nmixed_precision: fp16\ngpu_ids: '0,1'\n"
        "deepspeed_config: {zero_stage: 3, gradient_accumulation_steps: 4, zero3_init_flag: true}\n",
        encoding="utf-8",
    )
    speedy = environment(read(path), use_gpu=True)
    assert speedy["ACCELERATE_DEEPSPEED_ZERO_STAGE"] == "3"
    assert speedy["ACCELERATE_GRADIENT_ACCUMULATION_STEPS"] == "4"
    assert speedy["ACCELERATE_DEEPSPEED_ZERO3_INIT"] == "true"
    assert "mixed_precision" in speedy["ACCELERATE_CONFIG_DS_FIELDS"]
    assert "CUDA_VISIBLE_DEVICES" not in speedy

    path.write_text("split_batches: true\n", encoding="utf-8")
    with pytest.raises(ValueError, match="unknown keys"):
        read(str(path))
    with pytest.raises(NotImplementedError):
        environment(read({"distributed_type": "TPU"}), use_gpu=True)


ROWS = """
import torch
import datasets
from raymigrate_standin.transformers_loop import check_arguments, hugging_face_dataset, own_batches, _use_ray_rows
from transformers import Trainer, TrainingArguments, default_data_collator


class Shard:
    def iter_rows(self):
        for number in range(5):
            yield {"x": [float(number)], "label": number, "text": str(number)}


dataset = hugging_face_dataset(Shard(), 5)
row = next(iter(dataset))
results["kinds"] = [isinstance(dataset, kind) for kind in (torch.utils.data.IterableDataset, datasets.IterableDataset)]
results["row"] = [str(row["x"].dtype), str(row["label"].dtype), row["text"]]
results["length"] = len(dataset)


class Model(torch.nn.Module):
    def forward(self, x, label=None):
        return x


args = TrainingArguments(
    "out", per_device_train_batch_size=2, per_device_eval_batch_size=2, use_cpu=True, report_to="none"
)
trainer = Trainer(Model(), args, train_dataset=dataset, eval_dataset=dataset, data_collator=default_data_collator)
_use_ray_rows(trainer, split=True)


def labels(loader):
    return [batch.get("label", batch.get("labels")).tolist() for batch in loader]


results["train"] = labels(trainer.get_train_dataloader())
results["evaluation"] = labels(trainer.get_eval_dataloader())


class Two:
    def __getattr__(self, name):
        return 2 if name == "world_size" else getattr(args, name)


trainer.args = Two()
results["two workers"] = labels(own_batches(trainer))


def refusal(**changed):
    try:
        check_arguments(TrainingArguments("out", use_cpu=True, report_to="none", **changed))
    except ValueError as error:
        return str(error)


results["fine"] = refusal()
results["strategies"] = refusal(logging_strategy="epoch", save_strategy="steps")
results["steps"] = refusal(logging_steps=10, save_steps=15)
results["eval"] = refusal(logging_steps=10, save_steps=10, eval_strategy="steps", eval_steps=20)
"""


def test_rows_are_batched_as_they_were(tmp_path: Path) -> None:
    results = results_of(ROWS, tmp_path)
    assert results["kinds"] == [True, True]
    assert results["row"] == ["torch.float32", "torch.int64", "0"]
    assert results["length"] == 5
    assert results["train"] == [[0, 1], [2, 3], [4]]
    assert results["evaluation"] == [[0, 1], [2, 3], [4]]
    assert results["two workers"] == [[0, 1], [2, 3], [4, 0]]  # completed with the first rows
    assert results["fine"] is None
    assert results["strategies"].startswith("When using Ray AIR")
    assert results["steps"].startswith("When using 'steps' `save_strategy`")
    assert results["eval"].startswith("`logging_steps` must be equal to `eval_steps`")


JOB = """
import numpy
import ray
import torch
from ray.air import Checkpoint, ScalingConfig, session
from ray.air.config import RunConfig
from ray.data.preprocessors import BatchMapper
from ray.train.huggingface import AccelerateTrainer

ray.init(address="local")


def loop(config=None):
    from accelerate import Accelerator

    accelerator = Accelerator()
    assert session.get_dataset_shard("missing") is None
    assert session.get_checkpoint().to_dict() == {"step": 41}
    rows = [row["y"] for row in session.get_dataset_shard("train").iter_rows()]
    evaluation = [row["y"] for row in session.get_dataset_shard("evaluation").iter_rows()]
    wrapped = accelerator.prepare(torch.nn.Linear(1, 1))
    for step in range(config["steps"]):
        checkpoint = Checkpoint.from_dict({"step": step, "rank": session.get_world_rank()}) if step == 1 else None
        session.report({"step": torch.tensor(step)}, checkpoint=checkpoint)
        if step == 2:
            facts = {
                "rows": rows,
                "evaluation": evaluation,
                "wrapped": type(wrapped).__name__,
                "experiment": session.get_experiment_name(),
                "bundles": session.get_trial_resources().bundles,
                "step": step,
            }
            session.report(facts)
    raise AssertionError("stop= ends it before")


trainer = AccelerateTrainer(
    loop,
    train_loop_config={"steps": 9},
    accelerate_config={},
    scaling_config=ScalingConfig(num_workers=2, trainer_resources={"CPU": 0}),
    run_config=RunConfig(name="job", local_dir="results", verbose=0, stop={"training_iteration": 4}),
    datasets={
        "train": ray.data.from_items([{"x": number} for number in range(5)]),
        "evaluation": ray.data.from_items([{"x": number} for number in range(3)]),
    },
    preprocessor=BatchMapper(lambda batch: {"y": batch["x"] * 10}, batch_format="numpy"),
    resume_from_checkpoint=Checkpoint.from_dict({"step": 41}),
)
result = trainer.fit()
results["metrics"] = result.metrics
results["checkpoint"] = result.checkpoint.to_dict()
results["reports"] = len(result.metrics_dataframe)
results["mapped"] = result.checkpoint.get_preprocessor().transform_batch({"x": numpy.array([1])})["y"].tolist()
results["folder"] = str(result.log_dir)
"""


def test_a_job_runs_as_on_the_old_ray(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="rm-", dir="/tmp") as ray_folder:  # Ray's sockets need a short path
        done = run(
            f"results = {{}}\n{JOB}\nimport json\nprint()\nprint('RESULTS', json.dumps(results, default=str))",
            tmp_path,
            timeout=300,
            RAY_TMPDIR=ray_folder,
            RAY_USAGE_STATS_ENABLED="0",
            RAY_AUTH_MODE="disabled",
            RAY_OVERRIDE_RESOURCES='{"CPU": 8}',
            OMP_NUM_THREADS="1",
        )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
    line = next(line for line in done.stdout.splitlines() if line.startswith("RESULTS "))
    results = json.loads(line.removeprefix("RESULTS "))
    metrics = results["metrics"]
    assert len(metrics["rows"]) == 2 and set(metrics["rows"]) < {
        0,
        10,
        20,
        30,
        40,
    }  # its share; the odd row is left out
    assert sorted(metrics["evaluation"]) == [0, 10, 20]  # all of them
    assert metrics["wrapped"] == "DistributedDataParallel"
    assert metrics["experiment"] == "job"
    assert metrics["bundles"][-1] == {"CPU": 1}
    assert metrics["training_iteration"] == results["reports"] == 4
    assert results["checkpoint"] == {"step": 1, "rank": 0}
    assert results["mapped"] == [10]
    assert results["folder"].startswith(str(tmp_path / "results" / "job" / "AccelerateTrainer_"))
