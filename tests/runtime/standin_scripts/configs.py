"""Old arguments of trainers and configurations."""

import json
import os

import ray.air
import ray.train
from ray import tune
from ray.air import CheckpointConfig, DatasetConfig, FailureConfig, RunConfig, ScalingConfig
from ray.train import DataConfig
from ray.train.huggingface import AccelerateTrainer, TransformersTrainer
from ray.train.torch import TorchTrainer
from ray.tune import SyncConfig
from raymigrate_standin.air_config import scaling_arguments
from raymigrate_standin.ingest import split_names
from transformers import TrainingArguments

results = {}


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
}


whole = TransformersTrainer(init, dataset_config=DataConfig(), datasets={})
split = whole._data_config(DataConfig(), ["train", "evaluation"])._datasets_to_split
results["evaluation is split"] = "evaluation" in split
results["split"] = [
    split_names(None, ["train", "evaluation"]),
    split_names({"train": DatasetConfig(split=False), "*": DatasetConfig(split=True)}, ["train", "evaluation"]),
    split_names({"evaluation": DatasetConfig(fit=True)}, ["train", "evaluation"]),
    split_names({"*": DatasetConfig(split=False)}, ["train", "evaluation"]),
]
searched = ScalingConfig(num_workers=tune.grid_search([1, 2]), use_gpu=False)
results["searched"] = scaling_arguments(searched)["num_workers"]
results["searched of ray.train"] = scaling_arguments(ray.train.ScalingConfig(num_workers=tune.choice([1])))[
    "num_workers"
]

results["splits"] = []
for version in ("1", "2.6", "2.7", "2.10"):
    os.environ["RAYMIGRATE_STANDIN"] = version
    results["splits"].append(AccelerateTrainer._data_config(whole, None, ["train", "valid"])._datasets_to_split)
results["splits"].append(AccelerateTrainer._data_config(whole, {}, ["train", "valid"])._datasets_to_split)
results["averaged"] = TrainingArguments("out").average_tokens_across_devices

print("\nRESULTS", json.dumps(results, default=str))
