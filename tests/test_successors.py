"""What took the place of names that are gone: each name is gone, and what the advice names is there."""

import re

import pytest

from raymigrate.knowledge.libraries import look_up
from raymigrate.knowledge.successors import ADVICE, RENAMED, advice_on

NAMED = re.compile(r"\b(?:ray|transformers|peft|trl)(?:\.\w+)+")


@pytest.mark.parametrize("name", sorted({*ADVICE, *RENAMED}))
def test_it_is_gone(name: str) -> None:
    assert look_up(name).gone is not None


@pytest.mark.parametrize("name", sorted(ADVICE))
def test_what_the_advice_names_is_there(name: str) -> None:
    named = [found for found in NAMED.findall(ADVICE[name]) if not name.startswith(found)]
    assert not [found for found in named if look_up(found).gone is not None]


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("ray.tune.suggest.hyperopt.HyperOptSearch", "It is ray.tune.search now"),
        ("ray.tune.suggest.skopt.SkOptSearch", "Ray has no such search any more"),
        ("ray.data.datasource.CSVDatasource", "Use ray.data.read_csv()."),
        ("ray.train.callbacks.JsonLoggerCallback", "RunConfig(callbacks=) takes a ray.train.UserCallback"),
        ("ray.serve.handle.RayServeHandle", "It is ray.serve.handle.DeploymentHandle now"),
    ],
)
def test_what_is_below_a_name_is_advised_on_with_it(name: str, start: str) -> None:
    assert (advice_on(name) or "").startswith(start)


EXAMPLE = "torch_fashion_mnist_example"


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        (f"ray.train.examples.{EXAMPLE}", f"It is the module ray.train.examples.pytorch.{EXAMPLE} now"),
        (
            f"ray.train.examples.{EXAMPLE}.train_func_per_worker",
            f"It is the module ray.train.examples.pytorch.{EXAMPLE}",
        ),
        ("ray.tune.trial.Trial", "It is the module ray.tune.experiment.trial now"),
        ("ray.tune.sample.Domain", "It is the module ray.tune.search.sample now"),
        ("ray.train.torch.TorchDetectionPredictor", "Load the model in a class"),
        ("ray.air.util.check_ingest.DummyTrainer", "Nothing took its place"),
        ("ray.train.sklearn.SklearnTrainer", "Fit the model in a Ray task"),
        ("ray.train.sklearn.SklearnCheckpoint", "A checkpoint is a folder."),
        ("ray.train.sklearn.sklearn_checkpoint.SklearnCheckpoint.from_estimator", "A checkpoint is a folder."),
        ("ray.train.sklearn.SklearnPredictor", "Load the model in a class"),
        ("ray.train.rl.RLCheckpoint", "RLlib reads a checkpoint itself"),
        ("ray.train.rl.rl_predictor.RLPredictor", "RLlib reads a checkpoint itself"),
        ("transformers.GlueDataset", "Load the data with datasets.load_dataset"),
        # Nothing has the name, or what has it is something else.
        ("ray.air.checkpoint.Checkpoint", None),
        ("ray.train.examples.train_linear_example", None),
        ("ray.tune.ray_trial_executor.RayTrialExecutor", None),
        ("ray.tune.trial.Unheard", None),
        ("ray.data.Dataset.unheard", None),
    ],
)
def test_what_went_to_another_module_is_named_and_nothing_else(name: str, advice: str | None) -> None:
    told = advice_on(name)
    assert told is None if advice is None else (told or "").startswith(advice)
