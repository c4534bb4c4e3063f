"""RM307: names of ray.air that are gone; those that current Ray still has are no news."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted


@pytest.mark.parametrize(
    ("use", "told"),
    [
        ("from ray.air.constants import MODEL_KEY\nprint(MODEL_KEY)", False),
        ("import ray.air.constants\nprint(ray.air.constants.MODEL_KEY)", False),
        ("from ray.air.util.data_batch_conversion import BlockFormat\nprint(BlockFormat.PANDAS)", False),
        ("from ray.air.util.check_ingest import DummyTrainer\nprint(DummyTrainer)", True),
        ("from ray import air\nprint(air.config.DATASET)", True),
        ("try:\n    from ray.air.util.check_ingest import A\n    A()\nexcept ImportError:\n    pass", False),
    ],
)
def test_a_name_of_ray_air_is_told_if_it_is_gone(use: str, told: bool) -> None:
    outcome = converted(f"{use}\n")
    assert bool(outcome.lines("RM307", Kind.MANUAL)) is told
    assert bool(outcome.findings) is told


@pytest.mark.parametrize("home", ["ray.air.constants", "ray.tune.result"])
def test_a_key_of_tune_is_seen_behind_its_constant(home: str) -> None:
    script = (
        f"from {home} import TIME_TOTAL_S\nfrom ray.air.config import ScalingConfig\n"
        "from ray.train.huggingface import AccelerateTrainer\nfrom job import loop\n"
        "result = AccelerateTrainer(loop, accelerate_config={}, scaling_config=ScalingConfig(use_gpu=True)).fit()\n"
        "print(result.metrics[TIME_TOTAL_S])\n"
    )
    assert any('no "time_total_s"' in message for message in converted(script).messages)


def test_a_module_that_has_no_successor_sends_nobody_to_look_for_one() -> None:
    script = "from ray.air.util.torch_dist import TorchDistributedWorker\nTorchDistributedWorker()\n"
    at_import, told = converted(script).messages
    assert "copy what you need of it" in told
    assert "successor" not in at_import + told


AIR = """
from ray import air, tune
from ray.air import session
{more}

def loop(config):
    session.report({{"loss": 1}})
"""


@pytest.mark.parametrize(
    ("more", "stays"),
    [("", False), ("__all__ = ['air']", True), ("config = air.RunConfig(name='a')", False), ("print(air)", True)],
)
def test_an_import_of_air_that_nothing_uses_goes_with_the_rest(more: str, stays: bool) -> None:
    outcome = converted(AIR.format(more=more))
    assert ("from ray import air, tune" in outcome.text) is stays
    assert converted(outcome.text).text == outcome.text


def test_alone_an_unused_import_of_air_stays() -> None:
    text = "from ray import air, tune\n\nprint(tune)\n"
    assert converted(text).text == text


@pytest.mark.parametrize(
    "imported",
    [
        "from ray.tune.integration.wandb import WandbLoggerCallback as Logger",
        "from ray.tune.integration.mlflow import MLflowLoggerCallback as Logger",
        "from ray.air.integrations.wandb import WandbLoggerCallback as Logger",
    ],
)
def test_a_logger_that_moves_to_ray_air_leaves_a_second_run_nothing_to_do(imported: str) -> None:
    script = f"from ray import air, tune\n{imported}\n\ntune.run(len, callbacks=[Logger('p')])\n"
    outcome = converted(script)
    assert "from ray import air, tune" in outcome.text
    assert converted(outcome.text).text == outcome.text


TWICE = """
from {first} import Checkpoint
from {second} import Checkpoint


def folder(checkpoint: Checkpoint) -> str:
    return checkpoint.path
"""


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("ray.air", "ray.air.checkpoint"),
        ("ray.air.checkpoint", "ray.air"),
        ("ray.train", "ray.air.checkpoint"),
        ("ray.air.config", "ray.train"),
    ],
)
def test_a_class_from_two_modules_that_had_it_is_imported_once(first: str, second: str) -> None:
    outcome = converted(TWICE.format(first=first, second=second))
    assert outcome.text.count("import") == 1
    assert "from ray.train import Checkpoint" in outcome.text
    assert not outcome.lines("RM301", Kind.MANUAL)


def test_modules_that_are_tried_one_after_the_other_stay() -> None:
    script = """
try:
    from ray.train import Checkpoint
except ImportError:
    from ray.air import Checkpoint

print(Checkpoint)
"""
    assert converted(script).text == script.lstrip("\n")


@pytest.mark.parametrize(
    "imported",
    [
        "from ray.air.util.tensor_extensions.pandas import TensorArray\nprint(TensorArray)",
        "import ray.air.util.tensor_extensions.pandas as extension\nprint(extension.TensorArray)",
        "from ray.air.util.tensor_extensions import pandas\nprint(pandas.TensorArray)",
    ],
)
def test_the_place_of_a_name_is_told_where_its_whole_module_is_gone(imported: str) -> None:
    assert any("ray.data.extensions.TensorArray" in message for message in converted(imported + "\n").messages)
