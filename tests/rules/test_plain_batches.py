"""RM511 and RM501 where a function takes its batch for the one array that it once was."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import numpy as np
import pandas as pd
import ray
from ray.data import read_images
from ray.data.preprocessors import BatchMapper
from ray.air.config import ScalingConfig
from ray.train.torch import TorchTrainer


def looped(batch: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"image": [image / 255 for image in batch]})


def annotated(batch: np.ndarray):
    return {"x": model(batch)}


def columns(batch):
    return {"x": batch["image"] / 255}


def names(batch):
    for name in batch:
        batch[name] = batch[name] * 2
    return batch


images = ray.data.read_images("img", size=(8, 8))
tensors = ray.data.range_tensor(10, shape=(3,))
"""


@pytest.mark.parametrize(
    ("code", "read"),
    [
        ('images.map_batches(looped, batch_format="numpy")', 'batch["image"]'),
        ("images.map_batches(lambda batch: {'x': batch / 255})", 'batch["image"]'),
        ("read_images('img').limit(3).map_batches(annotated)", 'batch["image"]'),
        ('tensors.map_batches(lambda b: {"x": b[:, 0]}, batch_format="numpy")', 'batch["data"]'),
        ('ray.data.from_numpy(a).map_batches(annotated, batch_format="numpy")', 'batch["data"]'),
        ('ray.data.range(3).map_batches(lambda b: {"x": b * 2}, batch_format="numpy")', 'batch["id"]'),
        ('BatchMapper(looped, batch_format="numpy").transform(images)', 'batch["image"]'),
        ('BatchMapper(fn=annotated, batch_format="numpy").transform(tensors)', 'batch["data"]'),
        ('mapper = BatchMapper(looped, batch_format="numpy")', "the name of their column"),
        (
            'mapper = BatchMapper(looped, batch_format="numpy")\n'
            'TorchTrainer(loop, datasets={"train": images}, preprocessor=mapper, scaling_config=ScalingConfig(2))',
            'batch["image"]',
        ),
    ],
)
def test_a_batch_that_was_one_array_is_told(code: str, read: str) -> None:
    outcome = converted(f"{HEAD}x = {code}\n" if not code.startswith("mapper") else f"{HEAD}{code}\n")
    assert len(outcome.lines("RM511", Kind.MANUAL)) == 1
    assert any(f"Use {read}" in message or read in message for message in outcome.messages)


@pytest.mark.parametrize(
    "code",
    [
        'images.map_batches(columns, batch_format="numpy")',
        'images.map_batches(names, batch_format="numpy")',
        "images.map_batches(lambda b: {k: v * 2 for k, v in b.items()})",
        'images.map_batches(lambda frame: frame * 2, batch_format="pandas")',
        'ray.data.range(3).map_batches(lambda frame: frame * 2, batch_format="pandas")',
        'ray.data.read_parquet("a").map_batches(annotated, batch_format="numpy")',
        'BatchMapper(columns, batch_format="numpy").transform(images)',
        'BatchMapper(looped, batch_format="pandas").transform(images)',
        'BatchMapper(elsewhere, batch_format="numpy").transform(images)',
    ],
)
def test_a_batch_that_is_a_dict_or_a_table_is_no_news(code: str) -> None:
    assert not converted(f"{HEAD}x = {code}\n").lines("RM511", Kind.MANUAL)


def test_the_advice_for_a_mapper_hands_over_the_array() -> None:
    array = converted(f'{HEAD}x = BatchMapper(looped, batch_format="numpy").transform(images)\n').messages
    assert any("map_batches(lambda batch: looped(batch[column])" in message for message in array)
    a_dict = converted(f'{HEAD}x = BatchMapper(columns, batch_format="numpy").transform(images)\n').messages
    assert any("map_batches(columns, batch_format" in message for message in a_dict)
