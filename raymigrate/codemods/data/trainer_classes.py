"""The trainers that are still there, and that get datasets: TorchTrainer and its siblings."""

from raymigrate.knowledge.legacy import TORCH_TRAINERS

SIBLINGS = frozenset(
    f"ray.train.{module}.{name}"
    for name, modules in {
        "TensorflowTrainer": ("tensorflow", "tensorflow.tensorflow_trainer"),
        "XGBoostTrainer": ("xgboost", "xgboost.xgboost_trainer"),
        "LightGBMTrainer": ("lightgbm", "lightgbm.lightgbm_trainer"),
        "DataParallelTrainer": ("data_parallel_trainer",),
    }.items()
    for module in modules
)
TRAINERS_WITH_DATA = TORCH_TRAINERS | SIBLINGS
# XGBoost and LightGBM split every dataset, then and now.
SPLIT_ALL = frozenset(name for name in SIBLINGS if name.endswith(("XGBoostTrainer", "LightGBMTrainer")))
