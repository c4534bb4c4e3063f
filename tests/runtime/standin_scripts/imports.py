# ruff: noqa: F401 - that they can be imported is what is tested
"""Old names at their old paths."""

import json

import ray.air.session as session_module
import ray.train.torch
from ray import air
from ray.air import Checkpoint, CheckpointConfig, DatasetConfig, FailureConfig, RunConfig, ScalingConfig, session
from ray.air.callbacks.wandb import WandbLoggerCallback
from ray.air.checkpoint import Checkpoint as checkpoint_module
from ray.air.config import DatasetConfig as dataset_config
from ray.data.preprocessors import BatchMapper, Chain
from ray.data.preprocessors.batch_mapper import BatchMapper as mapper_path
from ray.train.batch_predictor import BatchPredictor
from ray.train.huggingface import (
    AccelerateTrainer,
    HuggingFaceCheckpoint,
    HuggingFacePredictor,
    HuggingFaceTrainer,
    TransformersCheckpoint,
    TransformersTrainer,
)
from ray.train.huggingface.accelerate import AccelerateTrainer as accelerate_24
from ray.train.huggingface.accelerate.accelerate_trainer import AccelerateTrainer as accelerate_path
from ray.train.huggingface.huggingface_checkpoint import HuggingFaceCheckpoint as checkpoint_path
from ray.train.huggingface.huggingface_predictor import HuggingFacePredictor as predictor_path
from ray.train.huggingface.huggingface_trainer import HuggingFaceTrainer as trainer_path
from ray.train.huggingface.transformers import TransformersTrainer as trainer_25
from ray.train.huggingface.transformers import prepare_trainer
from ray.train.huggingface.transformers.transformers_checkpoint import TransformersCheckpoint as checkpoint_25
from ray.train.huggingface.transformers.transformers_predictor import TransformersPredictor as predictor_25
from ray.train.huggingface.transformers.transformers_trainer import TransformersTrainer as trainer_25_path
from ray.train.predictor import Predictor
from ray.train.torch import TorchTrainer
from ray.train.torch.torch_trainer import TorchTrainer as defining_path

results = {}
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
    ray.train.torch.TorchTrainer is TorchTrainer is defining_path,
    HuggingFacePredictor is predictor_path and issubclass(predictor_25, Predictor),
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
        ("ray.train.torch", "TorchPredictor"),
        ("ray.data", "DatasetPipeline"),
        ("ray.ml.train.integrations.huggingface", "HuggingFaceTrainer"),
    )
]
results["unknown"] = refusal("from ray.train.huggingface import NoSuchTrainer")
results["unknown module"] = refusal("import ray.train.huggingface.no_such_module")

print("\nRESULTS", json.dumps(results, default=str))
