"""RM501, RM503: what BatchMapper and map_batches handed to functions of batches."""

import pytest

from tests.rules.scripts import converted

TRAINER = """
import ray
from ray.air.config import ScalingConfig
from ray.data.preprocessors import BatchMapper, Chain
from ray.train.huggingface import HuggingFaceTrainer
from job import build, PAD, pad, texts, tokenizer

{function}

trainer = HuggingFaceTrainer(
    build, scaling_config=ScalingConfig(num_workers=2, use_gpu=True), datasets={{"train": texts}}, preprocessor={given}
)
"""
SHUFFLE = "def fn(batch):\n    return batch.sample(frac=1, random_state=0)\n"
CENTER = "def fn(batch):\n    batch['x'] = batch['x'] - batch['x'].mean()\n    return batch\n"
HELPER = "def fn(batch):\n    return pad(batch)\n"
UNPACKED = "def fn(batch):\n    return tokenizer(list(batch['text']), **PAD)\n"
PADS = "def fn(batch):\n    return tokenizer.pad({'input_ids': list(batch['ids'])})\n"


@pytest.mark.parametrize("function", [SHUFFLE, CENTER, HELPER, UNPACKED, PADS])
@pytest.mark.parametrize(
    "given",
    [
        'BatchMapper(fn, batch_format="pandas")',
        'BatchMapper(batch_format="pandas", fn=fn)',
        'Chain(BatchMapper(fn, batch_format="pandas"))',
        'BatchMapper(fn, batch_format="pandas", batch_size="default")',
    ],
)
def test_a_mapper_keeps_the_size_of_its_batches(function: str, given: str) -> None:
    after = converted(TRAINER.format(function=function, given=given)).text
    assert after.count('.map_batches(fn, batch_format="pandas", batch_size=4096') == 1


def test_a_size_that_is_given_stays() -> None:
    given = 'BatchMapper(fn, batch_format="pandas", batch_size=None)'
    assert "batch_size=None" in converted(TRAINER.format(function=SHUFFLE, given=given)).text


@pytest.mark.parametrize(("version", "size"), [("2.4", 4096), ("2.5", 1024), ("2.6", 1024)])
def test_the_default_size_is_that_of_the_ray_it_was_written_for(version: str, size: int) -> None:
    given = 'BatchMapper(fn, batch_format="pandas")'
    after = converted(TRAINER.format(function=SHUFFLE, given=given), from_ray=version).text
    assert f"batch_size={size}" in after


@pytest.mark.parametrize(
    "datasets",
    [
        'sets = {"train": texts}',
        'sets: dict = {"train": texts}',
        'one = {"train": texts}\nsets = one',
        'one = {"train": texts}\nsets = {name: rows.limit(8) for name, rows in one.items()}',
        'sets = {"train": texts}\nsets = {name: rows.limit(8) for name, rows in sets.items()}',
    ],
)
def test_the_names_of_the_datasets_are_seen_in_what_is_written(datasets: str) -> None:
    script = TRAINER.format(function=f"{SHUFFLE}\n{datasets}", given='BatchMapper(fn, batch_format="pandas")')
    after = converted(script.replace('datasets={"train": texts}', "datasets=sets"), from_ray="2.6").text
    assert "batch_size=1024" in after and "has_evaluation" not in after
