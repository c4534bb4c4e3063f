"""The legacy names, under every path from which Ray 2.0 to 2.9 had them (docs/semantics/names.md)."""

from collections.abc import Collection

HF = "ray.train.huggingface"
# No release has this module (since 2.5 it is ray.train.huggingface.transformers), but a notebook in the repository of
# Ray imports from it, and so do its copies: doc/source/ray-air/examples/air_overview_chapter.ipynb, written for 2.4.
HF_UNRELEASED = "ray.train.hf_transformers"


def _paths(name: str, *modules: str) -> frozenset[str]:
    return frozenset(f"{module}.{name}" for module in modules)


# The modules of ray.ml, which Ray 1.13 had, that held a class under this name.
IN_ML = {
    "BatchPredictor": ("ray.ml.batch_predictor",),
    "Checkpoint": ("ray.ml", "ray.ml.checkpoint"),
    **{
        f"{name}{kind}": (package, f"{package}.{library}_{kind.lower()}")
        for name, library, kind, part in (
            ("HuggingFace", "huggingface", "Trainer", "train"),
            ("HuggingFace", "huggingface", "Predictor", "predictors"),
            ("Torch", "torch", "Predictor", "predictors"),
        )
        for package in (f"ray.ml.{part}.integrations.{library}",)
    },
}


def paths_in_ml(name: str) -> tuple[str, ...]:
    """The qualified names under which Ray 1.13 had a class in ray.ml."""
    return tuple(f"{module}.{name}" for module in IN_ML[name])


BATCH_PREDICTORS = ("ray.train.batch_predictor.BatchPredictor", *paths_in_ml("BatchPredictor"))
TRANSFORMERS_TRAINERS = (
    _paths("TransformersTrainer", HF, f"{HF}.transformers", f"{HF}.transformers.transformers_trainer")
    | _paths("TransformersTrainer", HF_UNRELEASED, f"{HF_UNRELEASED}.transformers_trainer")
    | _paths("HuggingFaceTrainer", HF, f"{HF}.huggingface_trainer")
    | frozenset(paths_in_ml("HuggingFaceTrainer"))
)
ACCELERATE_TRAINERS = _paths("AccelerateTrainer", HF, f"{HF}.accelerate", f"{HF}.accelerate.accelerate_trainer")
TRAINERS = TRANSFORMERS_TRAINERS | ACCELERATE_TRAINERS
LOOP_CONFIGS = ("trainer_init_config", "train_loop_config")  # what trainers hand to the function of their workers

# Other trainers that are gone. What an RLTrainer did is a Tuner's work today, and nothing does a SklearnTrainer's; the
# others were TorchTrainers with a training function of their own (2.6.3 train/*/*_trainer.py).
RL_TRAINERS = _paths("RLTrainer", "ray.train.rl", "ray.train.rl.rl_trainer", "ray.ml.train.integrations.rl")
SKLEARN_TRAINERS = _paths(
    "SklearnTrainer", "ray.train.sklearn", "ray.train.sklearn.sklearn_trainer", "ray.ml.train.integrations.sklearn"
)
GONE_TORCH_TRAINERS = (
    _paths("LightningTrainer", "ray.train.lightning", "ray.train.lightning.lightning_trainer")
    | _paths("MosaicTrainer", "ray.train.mosaic", "ray.train.mosaic.mosaic_trainer")
)  # fmt: skip

# Modules that current Ray no longer has, as far as the trainers are concerned.
GONE_MODULES = (
    f"{HF}.huggingface_trainer",
    f"{HF}.huggingface_checkpoint",
    f"{HF}.huggingface_predictor",
    f"{HF}.transformers.transformers_trainer",
    f"{HF}.transformers.transformers_checkpoint",
    f"{HF}.transformers.transformers_predictor",
    f"{HF}.accelerate",
    HF_UNRELEASED,
    "ray.ml",
)

# A training function of Ray runs on the workers; these make the trainers whose function that is.
TORCH_TRAINERS = frozenset({"ray.train.torch.TorchTrainer", "ray.train.torch.torch_trainer.TorchTrainer"})
TRAINING_ARGUMENTS = frozenset(
    f"transformers{module}.{name}"
    for module, names in {
        "": ("TrainingArguments", "Seq2SeqTrainingArguments"),
        ".training_args": ("TrainingArguments",),
        ".training_args_seq2seq": ("Seq2SeqTrainingArguments",),
    }.items()
    for name in names
)
HF_TRAINERS = frozenset(
    {
        "transformers.Trainer",
        "transformers.Seq2SeqTrainer",
        "transformers.trainer.Trainer",
        "transformers.trainer_seq2seq.Seq2SeqTrainer",
    }
)
ACCELERATORS = frozenset({"accelerate.Accelerator", "accelerate.accelerator.Accelerator"})
PARTIAL_STATES = frozenset({"accelerate.PartialState", "accelerate.state.PartialState"})
SYNC_CONFIGS = tuple(
    f"{module}.SyncConfig" for module in ("ray.tune", "ray.tune.syncer", "ray.train", "ray.air", "ray.air.config")
)
CONFIG_CLASSES = ("ScalingConfig", "RunConfig", "CheckpointConfig", "FailureConfig")

# What ray.air had of ray.train: the classes of configurations are the very same (2.9.3, train/__init__.py), and of a
# Checkpoint a file has either, whichever it imports last.
IN_TRAIN = {
    **{f"{place}.{name}": f"ray.train.{name}" for place in ("ray.air.config", "ray.air") for name in CONFIG_CLASSES},
    **dict.fromkeys(("ray.air.Checkpoint", "ray.air.checkpoint.Checkpoint"), "ray.train.Checkpoint"),
}


def are_one(names: Collection[str | None]) -> bool:
    """Whether qualified names, None for what no import brought in, all stand for one thing.

    Packages of Ray pass on the classes of their modules: ray.tune.Tuner is ray.tune.tuner.Tuner.
    """
    if len(names) == 1:
        return True
    found = [IN_TRAIN.get(name, name) for name in names if name is not None]
    package, _, class_name = min(found, key=len, default="").rpartition(".")
    is_class_of_ray = f"{package}.".startswith("ray.") and class_name[:1].isupper()
    return (
        is_class_of_ray
        and len(found) == len(names)
        and all(name.startswith(f"{package}.") and name.endswith(f".{class_name}") for name in found)
    )
