"""Writes `raymigrate/data/removed_names.json`: what legacy scripts could import, and the target versions no longer have.

The old libraries cannot be installed beside the new ones, so their wheels are downloaded and only read (`ast`, nothing of
them is run). What is left of it today is asked of the installed libraries themselves, in a child process for each.

    python scripts/generate_removed_names.py [--cache FOLDER]
"""

import argparse
import ast
import json
import re
import subprocess
import sys
import zipfile
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

OUTPUT = Path(__file__).parent.parent / "raymigrate" / "data" / "removed_names.json"
PROBE = Path(__file__).with_name("probe_installed_names.py")

# Legacy scripts name Ray 2.0 to 2.9. The Hugging Face versions go on to the last ones before today's major version, because
# a script that was half brought up to date names those.
OLD_VERSIONS = {
    "ray": ["2.0.1", "2.4.0", "2.6.3", "2.7.2", "2.9.3"],
    "transformers": ["4.19.4", "4.26.1", "4.30.2", "4.36.2", "4.46.3", "4.57.1"],
    "accelerate": ["0.12.0", "0.17.1", "0.20.3", "0.25.0", "0.34.2"],
    "datasets": ["2.11.0", "2.15.0", "2.21.0", "3.6.0"],
    "evaluate": ["0.4.0"],
}
DOWNLOAD = ["--no-deps", "--only-binary=:all:", "--python-version=3.10", "--platform=manylinux2014_x86_64"]

# Modules whose names are compared; every public module of the library is compared as a module.
COVERED = re.compile(
    r"""ray\.air(\..+)? | ray\.train(\..+)? | ray\.tune(\..+)? | ray\.util\.ml_utils(\..+)?
    | ray\.data(\.(preprocessors?|dataset|datasource|iterator|read_api|aggregate|block|context|row|group).*)?
    | transformers(\.(trainer|training_args|optimization|deepspeed|integrations|data|utils|file_utils|hf_argparser
        |modeling_utils|tokenization_utils|debug_utils|generation|onnx).*)?
    | (datasets|accelerate|evaluate)(\.(load|metric|utils|state|tasks|accelerator|module|inspect|info|features))?""",
    re.VERBOSE,
)
LIBRARY_MODULES = re.compile(r"(ray\.(air|train|tune|data|util\.ml_utils)|transformers|accelerate|datasets|evaluate)(\.|$)")
NOT_API = re.compile(r"(^|\.)(_.*|tests?|test_.*|examples?|benchmarks?|commands|convert_.*|.*_test|dummy_.*_objects)(\.|$)")
NOT_API_NAMES = {"logger", "logging"}
NOT_API_CALLS = {"getLogger", "get_logger", "TypeVar"}

# Callables whose parameters are compared: today's name, and the module and name in the old wheels.
CALLABLES = {
    "accelerate.Accelerator": "accelerate.accelerator.Accelerator",
    "datasets.load_dataset": "datasets.load.load_dataset",
    "ray.train.CheckpointConfig": "ray.air.config.CheckpointConfig",
    "ray.train.FailureConfig": "ray.air.config.FailureConfig",
    "ray.train.RunConfig": "ray.air.config.RunConfig",
    "ray.train.ScalingConfig": "ray.air.config.ScalingConfig",
    "ray.train.torch.TorchTrainer": "ray.train.torch.torch_trainer.TorchTrainer",
    "transformers.Seq2SeqTrainer": "transformers.trainer_seq2seq.Seq2SeqTrainer",
    "transformers.Seq2SeqTrainingArguments": "transformers.training_args_seq2seq.Seq2SeqTrainingArguments",
    "transformers.Trainer": "transformers.trainer.Trainer",
    "transformers.TrainingArguments": "transformers.training_args.TrainingArguments",
}
