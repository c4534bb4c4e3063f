"""The grammar of programs with a TransformersTrainer: what one means, and how it may be spelled.

Weights are those of public legacy code: most scripts import from ray.train.huggingface, construct at module level or
in a function, and give train and evaluation data.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Meaning:
    """What a program does, however it is spelled.

    Args:
        workers: Number of them.
        gpu: Whether each has a GPU.
        learning_rate: Of the TrainingArguments.
        epochs: Likewise.
        data: "ray" for Ray Datasets of both splits, "train" for one of the training split alone, "own" for data that
            the init function loads.
        mapped: Whether a preprocessor tokenizes the Ray Datasets.
        save: The save_strategy, or None where none is given.
        says_cpu: Whether the TrainingArguments say whether to train on the CPU.
        collator: Whether there is one.
        name: Of the run, or None.
        folder: For the results, or None.
        kept: How many checkpoints are kept, or None.
        resumes: How often a failed worker may be started again, or None.
        tuned: Whether a Tuner tries several learning rates.
        reads: What is printed of the result: its "metrics", its "folder", or the "model" of its checkpoint.
    """

    workers: int
    gpu: bool
    learning_rate: float
    epochs: int
    data: str
    mapped: bool
    save: str | None
    says_cpu: bool
    collator: bool
    name: str | None
    folder: str | None
    kept: int | None
    resumes: int | None
    tuned: bool
    reads: str


@dataclass(frozen=True)
class Spelling:
    """How a program is written. Each field is the name of one of the ways that are known below."""

    trainer: str
    configs: str
    function: str
    parameters: str
    settings: str
    gpu: str
    scaling: str
    arguments: str
    returned: str
    datasets: str
    place: str
    order: str
    result: str
    preprocessor: str
    run_config: str
    given: str
    tuner: str
    tuner_given: str
    checkpoint: str


TRAINERS = {
    "HuggingFaceTrainer": ("from ray.train.huggingface import HuggingFaceTrainer", "HuggingFaceTrainer"),
    "TransformersTrainer": ("from ray.train.huggingface import TransformersTrainer", "TransformersTrainer"),
    "alias": ("from ray.train.huggingface import TransformersTrainer as RayTrainer", "RayTrainer"),
    "below": ("from ray.train.huggingface.transformers import TransformersTrainer", "TransformersTrainer"),
    "module": ("import ray.train.huggingface", "ray.train.huggingface.HuggingFaceTrainer"),
    "module alias": ("import ray.train.huggingface as hf", "hf.TransformersTrainer"),
    "from module": ("from ray.train import huggingface", "huggingface.TransformersTrainer"),
}
CONFIGS = {
    "air.config": ("from ray.air.config import CheckpointConfig, FailureConfig, RunConfig, ScalingConfig", ""),
    "air": ("from ray.air import CheckpointConfig, FailureConfig, RunConfig, ScalingConfig", ""),
    "air module": ("from ray import air", "air."),
    "attributes": ("import ray.air", "ray.air."),
    "train": ("from ray.train import CheckpointConfig, FailureConfig, RunConfig, ScalingConfig", ""),
}
TUNERS = {
    "names": ("from ray.tune import TuneConfig, Tuner, grid_search", "Tuner", "TuneConfig", "grid_search"),
    "module": ("from ray import tune", "tune.Tuner", "tune.TuneConfig", "tune.grid_search"),
    "below": ("from ray import tune\nfrom ray.tune.tuner import Tuner", "Tuner", "tune.TuneConfig", "tune.grid_search"),
    "attributes": ("import ray.tune", "ray.tune.Tuner", "ray.tune.TuneConfig", "ray.tune.grid_search"),
}
RATES = (0.5, 0.75)  # that a Tuner tries
WAYS = {
    "trainer": list(TRAINERS),
    "configs": list(CONFIGS),
    "function": ["trainer_init_per_worker", "build", "train_function"],
    "parameters": ["usual", "no default", "annotated", "named"],
    "settings": ["literal", "call", "variable", "pieces", "constants", "copied"],
    "gpu": ["literal", "constant", "switch", "argparse"],
    "scaling": ["inline", "variable", "positional", "unpacked", "helper"],
    "arguments": ["named", "inline", "positional", "unpacked", "helper"],
    "returned": ["name", "call"],
    "datasets": ["inline", "variable", "call", "pieces"],
    "place": ["module", "main", "function", "class", "factory", "imported there"],
    "order": ["before", "after", "elsewhere", "nested"],
    "result": ["named", "chained"],
    "preprocessor": ["inline", "variable", "chain"],
    "run_config": ["inline", "variable", "unpacked", "pieces"],
    "given": [*["keywords"] * 4, *["positional"] * 2, "unpacked", "partial", "lambda"],
    "tuner": list(TUNERS),
    "checkpoint": ["bare", "class", "variable"],
    "tuner_given": ["keywords", "positional", "variables"],
}


def meaning(random: Random) -> Meaning:
    """What a program is to do."""
    data = random.choices(["ray", "own", "train"], [7, 3, 1])[0]
    tuned = random.random() < 0.2
    return Meaning(
        workers=random.randint(1, 4),
        gpu=random.random() < 0.4,
        learning_rate=random.choice([2e-5, 1e-3, 0.25]),
        epochs=random.randint(1, 3),
        data=data,
        mapped=data != "own" and random.random() < 0.4,
        save=random.choices(["epoch", "no", "steps", None], [4, 3, 1, 2])[0],
        says_cpu=random.random() < 0.5,
        collator=random.random() < 0.4,
        name=random.choice([None, "run"]),
        folder=random.choice([None, "/results"]),
        kept=random.choice([None, 1, 2]),
        resumes=random.choice([None, 3]),
        tuned=tuned,
        reads="metrics" if tuned else random.choices(["metrics", "folder", "model"], [4, 1, 4])[0],
    )


def spelling(random: Random) -> Spelling:
    """How it is to be written."""
    return Spelling(**{name: random.choice(ways) for name, ways in WAYS.items()})
