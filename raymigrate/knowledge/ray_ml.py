"""What became of the names of ray.ml, which Ray 1.13 had and Ray 2.0 took apart (the wheels of both)."""

HOME = "ray.ml"
# Where later versions have what a name stood for; what is not here was private, an example, or a test. Classes of a
# package are named by the package: its inner modules hold others today (docs/semantics/train-v2.md).
PLACES = {
    "ray.ml.Checkpoint": "ray.train.Checkpoint",
    "ray.ml.Preprocessor": "ray.data.preprocessor.Preprocessor",
    "ray.ml.RunConfig": "ray.train.RunConfig",
    "ray.ml.ScalingConfig": "ray.train.ScalingConfig",
    "ray.ml.batch_predictor.BatchPredictor": "ray.train.batch_predictor.BatchPredictor",
    "ray.ml.checkpoint.Checkpoint": "ray.train.Checkpoint",
    "ray.ml.config.FailureConfig": "ray.train.FailureConfig",
    "ray.ml.config.RunConfig": "ray.train.RunConfig",
    "ray.ml.config.ScalingConfig": "ray.train.ScalingConfig",
    "ray.ml.config.ScalingConfigDataClass": "ray.train.ScalingConfig",
    "ray.ml.constants.EVALUATION_DATASET_KEY": "ray.train.constants.EVALUATION_DATASET_KEY",
    "ray.ml.constants.MODEL_KEY": "ray.train.constants.MODEL_KEY",
    "ray.ml.constants.PREPROCESSOR_KEY": "ray.train.constants.PREPROCESSOR_KEY",
    "ray.ml.constants.TRAIN_DATASET_KEY": "ray.train.constants.TRAIN_DATASET_KEY",
    "ray.ml.predictor.DataBatchType": "ray.train.predictor.DataBatchType",
    "ray.ml.predictor": "ray.train.predictor",
    "ray.ml.predictors": "ray.train.predictor",
    "ray.ml.preprocessor": "ray.data.preprocessor",
    "ray.ml.result.Result": "ray.train.Result",
    "ray.ml.tests": "ray.train.tests",
    "ray.ml.train.data_parallel_trainer.DataParallelTrainer": "ray.train.data_parallel_trainer.DataParallelTrainer",
    "ray.ml.train.TRAIN_DATASET_KEY": "ray.train.constants.TRAIN_DATASET_KEY",
    "ray.ml.train.gbdt_trainer": "ray.train.gbdt_trainer",
    "ray.ml.trainer.GenDataset": "ray.train.base_trainer.GenDataset",
    "ray.ml.trainer.Trainer": "ray.train.base_trainer.BaseTrainer",
    "ray.ml.trainer.TrainingFailedError": "ray.train.TrainingFailedError",
}
PREPROCESSORS = "ray.ml.preprocessors"
# Packages for one library each: `torch.TorchTrainer`, `torch.torch_predictor.TorchPredictor`.
INTEGRATIONS = ("ray.ml.train.integrations", "ray.ml.predictors.integrations")
OF_INTEGRATIONS = ("Trainer", "Predictor")
# Modules whose names no user was meant to import.
PRIVATE_MODULES = frozenset({"examples", "huggingface_utils", "utils"})


def is_private(qualified: str) -> bool:
    """Whether a name without a later place was none for users: not a package or module of those that had such names.

    Args:
        qualified: A name within ray.ml.
    """
    parts = qualified.split(".")
    return any(part in PRIVATE_MODULES or part[:1] == "_" or part[:1].isupper() for part in parts)


def later_place(qualified: str) -> str | None:
    """Where Ray 2 has what a name of ray.ml stood for, whether or not current Ray still does; None where nowhere.

    Args:
        qualified: A name within ray.ml, which may go on below a class.
    """
    parts = qualified.split(".")
    classes = [place for place, part in enumerate(parts) if part[:1].isupper()]
    parts = parts[: classes[0] + 1] if classes else parts
    name = ".".join(parts)
    if name.startswith(f"{PREPROCESSORS}.") and classes:
        return f"ray.data.preprocessors.{parts[-1]}"
    for package in INTEGRATIONS:
        if name.startswith(f"{package}.") and parts[-1].endswith(OF_INTEGRATIONS):
            library = name.removeprefix(f"{package}.").partition(".")[0]
            return f"ray.train.{library}.{parts[-1]}"
    for length in range(len(parts), 0, -1):
        if (place := PLACES.get(".".join(parts[:length]))) is not None:
            return ".".join([place, *parts[length:]])
    return None
