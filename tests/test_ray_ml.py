"""What is told of the names of ray.ml, which Ray 1.13 alone had: the advice leads to names that are there."""

import re

import pytest

from raymigrate.knowledge.libraries import look_up
from raymigrate.knowledge.ray_ml import PLACES
from raymigrate.knowledge.successors import ADVICE, PRIVATE, advice_on
from tests.rules.scripts import converted

PREPROCESSORS = (
    "BatchMapper Categorizer CountVectorizer Chain FeatureHasher HashingVectorizer LabelEncoder MaxAbsScaler"
    " MinMaxScaler Normalizer OneHotEncoder OrdinalEncoder PowerTransformer RobustScaler SimpleImputer StandardScaler"
    " Tokenizer"
)
TRAINERS = "horovod.Horovod lightgbm.LightGBM tensorflow.Tensorflow torch.Torch xgboost.XGBoost"
# What `__all__` of its packages named in the wheel of 1.13.0, and what its examples import besides.
PUBLIC = [
    *PLACES,
    *(f"ray.ml.preprocessors.{name}" for name in PREPROCESSORS.split()),
    *(f"ray.ml.train.integrations.{name}Trainer" for name in TRAINERS.split()),
    "ray.ml.train.integrations.torch.torch_trainer.TorchTrainer",
    "ray.ml.preprocessors.scaler.StandardScaler.transform",
]


@pytest.mark.parametrize("name", PUBLIC)
def test_a_name_that_advice_gives_is_there(name: str) -> None:
    advice = advice_on(name) or ""
    for place in re.findall(r"It is (\S+) now", advice):
        assert look_up(place).gone is None
        assert not place.endswith("_trainer.TorchTrainer")  # the inner module has the class before Train V2
    assert advice != PRIVATE


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("ray.ml.tests._huggingface_data.train_data", ADVICE["ray.train.tests"]),
        ("ray.ml.train.integrations.huggingface.huggingface_utils.TrainReportCallback", PRIVATE),
        ("ray.ml.utils.torch_utils.load_torch_model", PRIVATE),
        ("ray.ml.examples.custom_trainer.MyTrainer", PRIVATE),
        ("ray.ml.checkpoint._FS_CHECKPOINT_KEY", PRIVATE),
        ("ray.ml.train.integrations.rl.RLTrainer", ADVICE["ray.train.rl"]),
        ("ray.ml.predictors.integrations.xgboost.XGBoostPredictor", ADVICE["ray.train.xgboost.XGBoostPredictor"]),
        ("ray.ml.predictor.DataBatchType", ADVICE["ray.train.predictor.DataBatchType"]),
        ("ray.ml.trainer.Trainer", ADVICE["ray.ml.trainer.Trainer"]),
        ("ray.ml.train.integrations.torch", ADVICE["ray.ml"]),
        ("ray.ml", ADVICE["ray.ml"]),
    ],
)
def test_each_name_gets_the_advice_of_what_took_its_place(name: str, advice: str) -> None:
    assert advice_on(name) == advice


@pytest.mark.parametrize(
    ("script", "advice"),
    [
        ("from ray.ml.tests._huggingface_data import train_data\nprint(train_data)", ADVICE["ray.train.tests"]),
        ("import ray.ml.utils.torch_utils\nray.ml.utils.torch_utils.load_torch_model(a)", PRIVATE),
        (
            "from ray.ml.train.integrations.huggingface.huggingface_utils import TrainReportCallback as C\nprint(C())",
            PRIVATE,
        ),
        ("from ray.ml import RunConfig\nRunConfig()", "It is ray.train.RunConfig now: import it from there"),
        ("from ray.ml.config import RunConfig\nRunConfig()", "It is ray.train.RunConfig now: import it from there"),
    ],
)
def test_the_advice_is_given_at_the_import(script: str, advice: str) -> None:
    (message,) = (m for m in converted(script).messages if "is gone: this import" in m)
    assert advice in message
