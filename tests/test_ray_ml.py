"""What is told of the names of ray.ml, which Ray 1.13 alone had: the advice leads to names that are there."""

import re

import pytest

from raymigrate.base.findings import Kind
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
        ("ray.ml.tests._huggingface_data.train_data", ADVICE["ray.train.tests._huggingface_data"]),
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
        (
            "from ray.ml.tests._huggingface_data import train_data\nprint(train_data)",
            ADVICE["ray.train.tests._huggingface_data"],
        ),
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


CHECKPOINT = """
import ray
import ray.ml
from ray.ml import Checkpoint as Short
from ray.ml.checkpoint import Checkpoint
from ray.ml.batch_predictor import BatchPredictor
from ray.ml.predictors.integrations.huggingface import HuggingFacePredictor
from ray.ml.predictors.integrations.huggingface.huggingface_predictor import HuggingFacePredictor as Inner
from ray.ml.predictors.integrations.torch import TorchPredictor
from transformers import TextGenerationPipeline

rows = ray.data.read_text("s3://our-bucket/texts")
"""
MADE_OF = "BatchPredictor.from_checkpoint({}, {}, task='fill-mask').predict(rows)"


@pytest.mark.parametrize("checkpoint", ["Checkpoint('/a')", "Short.from_directory('/a')", "ray.ml.Checkpoint('/a')"])
@pytest.mark.parametrize("predictor", ["HuggingFacePredictor", "Inner"])
def test_its_predictors_are_converted_as_later_ones_are(checkpoint: str, predictor: str) -> None:
    outcome = converted(CHECKPOINT + MADE_OF.format(checkpoint, predictor), unsafe=True)
    assert "rows.map_batches(\n    PipelinePredictor," in outcome.text
    assert "ray.ml" not in outcome.text
    assert ("RM603", Kind.CONVERTED) in [(code, kind) for code, kind, _ in outcome.findings]


@pytest.mark.parametrize("name", ["pipeline", "pipeline_cls"])
def test_the_class_of_the_pipeline_had_another_name(name: str) -> None:
    arguments = f"{name}=TextGenerationPipeline, task='text-generation'"
    outcome = converted(
        f"{CHECKPOINT}print(Inner.from_checkpoint(Checkpoint('/a'), {arguments}).predict(df))", unsafe=True
    )
    assert "pipeline_class=TextGenerationPipeline" in outcome.text


def test_its_torch_predictor_is_told_as_the_later_one_is() -> None:
    outcome = converted(CHECKPOINT + "print(TorchPredictor.from_checkpoint(Checkpoint('/a')))")
    assert outcome.lines("RM603", Kind.MANUAL)


@pytest.mark.parametrize(
    ("use", "now"),
    [
        ("Short.from_uri('s3://a')", "ray.train.Checkpoint('s3://a')"),
        ("Checkpoint.from_uri('s3://a')", "Checkpoint('s3://a')"),
        ("Checkpoint(local_path='/a')", "Checkpoint(path='/a')"),
    ],
)
def test_its_checkpoint_is_converted_as_the_later_one_is(use: str, now: str) -> None:
    assert now in converted(f"{CHECKPOINT}print({use})").text


def test_own_classes_of_these_names_stay() -> None:
    script = "import ray\nfrom own.ml.checkpoint import Checkpoint\nfrom own.ml.batch_predictor import BatchPredictor\n"
    script += "print(BatchPredictor.from_checkpoint(Checkpoint('/a'), 1))\n"
    assert converted(script).text == script
