"""RM501, RM503: what BatchMapper and map_batches handed to functions of batches."""

import re

import pytest

from raymigrate.base.findings import Kind
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


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (
            'BatchMapper(pad(PAD), batch_format="pandas")',
            ["preprocess = pad(PAD)\n", "dataset.map_batches(\n"],
        ),
        (
            'Chain(BatchMapper(pad(1), batch_format="pandas"), BatchMapper(job.Pad(2), batch_format="numpy"))',
            ["preprocess = pad(1)\n", "preprocess_batch = job.Pad(2)\n", ".map_batches(preprocess_batch,"],
        ),
        ("mapper", ["preprocess = pad(PAD)\n", "dataset.map_batches(\n"]),
        ('BatchMapper(partial(pad, PAD), batch_format="pandas")', ["partial(pad, PAD)"]),
    ],
)
def test_a_function_that_a_call_makes_is_made_once(given: str, made: list[str]) -> None:
    head = 'import job\nfrom functools import partial\n\nmapper = BatchMapper(pad(PAD), batch_format="pandas")\n'
    after = converted(TRAINER.format(function=head, given=given)).text
    assert all(after.count(line) == 1 for line in made)


def test_a_mapper_whose_function_is_not_seen_is_left_to_a_person() -> None:
    outcome = converted(TRAINER.format(function="", given="BatchMapper(**texts)"))
    assert "preprocessor=BatchMapper(**texts)" in outcome.text and outcome.lines("RM501", Kind.MANUAL)


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


TWO = """
import ray
from ray.air.config import ScalingConfig
from ray.data.preprocessors import BatchMapper, Chain
from ray.train.huggingface import HuggingFaceTrainer
from ray.train.torch import TorchTrainer
from job import build, clean, double, rows, others

gpus = ScalingConfig(num_workers=2, use_gpu=True)
{before}
first = HuggingFaceTrainer(build, scaling_config=gpus, datasets={first}, preprocessor=mapper)
{between}
second = {trainer}(build, scaling_config=gpus, datasets={second}, preprocessor=mapper)
"""
ONE_MAPPER = 'mapper = BatchMapper(double, batch_format="numpy")'
A_CHAIN = f'inner = BatchMapper(clean, batch_format="pandas")\n{ONE_MAPPER}\nmapper = Chain(inner, mapper)'


def two_trainers(**parts: str) -> str:
    given = {"before": ONE_MAPPER, "first": '{"train": rows}', "second": '{"train": rows}', "between": "pass"}
    return TWO.format(**given | {"trainer": "HuggingFaceTrainer"} | parts)


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"second": '{"train": others}'},
        {"between": "rows = rows.limit(5)"},
        {"before": f'{ONE_MAPPER}\nsets = {{"train": rows}}', "first": "sets", "second": "sets"},
        {
            "before": A_CHAIN.replace("mapper = BatchMapper(d", "other = BatchMapper(d").replace(
                "inner, mapper", "inner, other"
            )
        },
        {"trainer": "TorchTrainer"},
    ],
    ids=["same data", "other data", "data in between", "named data", "chain", "two classes"],
)
def test_a_mapper_of_two_trainers_goes_with_both(parts: dict[str, str]) -> None:
    outcome = converted(two_trainers(**parts))
    assert "BatchMapper" not in outcome.text and "preprocessor=" not in outcome.text
    assert not outcome.lines("RM501", Kind.MANUAL)


@pytest.mark.parametrize(
    ("parts", "times"),
    [
        ({}, 1),
        ({"before": f'{ONE_MAPPER}\nsets = {{"train": rows}}', "first": "sets", "second": "sets"}, 1),
        ({"second": '{"train": others}'}, 2),
        ({"between": "rows = rows.limit(5)"}, 2),
        ({"first": '{"train": rows.limit(5)}', "second": '{"train": rows.limit(5)}'}, 2),
    ],
)
def test_data_is_prepared_once_where_it_is_the_same(parts: dict[str, str], times: int) -> None:
    assert converted(two_trainers(**parts)).text.count("map_batches(") == times


@pytest.mark.parametrize(
    "before",
    [
        ONE_MAPPER.replace("mapper =", "made =") + "\nmapper = made",
        ONE_MAPPER.replace("mapper =", "made =") + "\nother = made\nmapper = other",
        ONE_MAPPER.replace("mapper =", "mapper: BatchMapper ="),
    ],
    ids=["two names", "three names", "annotated"],
)
def test_a_mapper_goes_with_all_its_names(before: str) -> None:
    outcome = converted(two_trainers(before=before))
    assert not re.search(r"\b(BatchMapper|mapper|made|other)\b", outcome.text)
    assert outcome.text.count("map_batches(") == 1


def test_a_mapper_that_something_else_uses_by_its_first_name_stays_and_is_told() -> None:
    before = ONE_MAPPER.replace("mapper =", "made =") + "\nmapper = made\nprint(made)"
    outcome = converted(two_trainers(before=before))
    assert outcome.lines("RM501", Kind.MANUAL)


def test_a_mapper_that_something_else_uses_stays_and_is_told() -> None:
    outcome = converted(two_trainers(between="mapper.transform(rows)"))
    assert outcome.lines("RM501", Kind.MANUAL)


STAYS = """
import yaml
from ray.air.config import DatasetConfig, ScalingConfig
from ray.train.huggingface import AccelerateTrainer

AccelerateTrainer(
    loop,
    accelerate_config={config},
    dataset_config={{
        "train": DatasetConfig(split=True),
        "valid": DatasetConfig({given}),
    }},
    datasets={{"train": make(), "valid": make()}},
    scaling_config=ScalingConfig(num_workers=2),
)
"""
UNREAD = "yaml.safe_load(open('accelerate.yaml'))"


def test_a_dataset_config_of_a_trainer_that_stays_waits_for_it() -> None:
    waiting = converted(STAYS.format(config=UNREAD, given="split=False"))
    assert len([text for text in waiting.messages if "This one stays as long as its trainer does" in text]) == 2
    unread = converted(STAYS.format(config=UNREAD, given="per_epoch_preprocessor=mapper"))
    assert len([text for text in unread.messages if "this one was not understood" in text]) == 1
    assert len([text for text in unread.messages if "not all that its trainer gets with it" in text]) == 1
    shuffled = STAYS.format(config=UNREAD, given="global_shuffle=True")
    assert len([text for text in converted(shuffled).messages if "This one stays" in text]) == 2
    unseen = converted(shuffled.replace('{"train": make(), "valid": make()}', "make()"))
    assert len([text for text in unseen.messages if "not all that its trainer gets with it" in text]) == 2
    both = converted(STAYS.format(config="{}", given="split=False"))
    assert 'DataConfig(datasets_to_split=["train"])' in both.text
    assert not both.lines("RM504", Kind.MANUAL)


def test_a_batch_mapper_that_is_only_named_has_no_function() -> None:
    script = """
    from ray.data.preprocessors import BatchMapper


    def make(size) -> BatchMapper:
        return BatchMapper(scale, batch_format="pandas", batch_size=size)


    def is_one(mapper):
        return isinstance(mapper, BatchMapper)
    """
    messages = [text for text in converted(script).messages if "BatchMapper is gone" in text]
    assert len(messages) == 3
    assert [" None is made here." in text for text in messages] == [True, False, True]
    assert not any("fn" in text for text in messages)


UNTRANSFORMED = """
import ray
from ray.air.config import DatasetConfig, ScalingConfig
from ray.data.preprocessors import StandardScaler
from ray.train.{module} import {trainer}

def train(rows, preprocessor, prepared):
    trainer = {trainer}(
        loop,
        scaling_config=ScalingConfig(num_workers=1),
        datasets={{"train": rows, "dev": rows}},
        dataset_config={config},
        preprocessor={given},
    )
    return trainer.fit()
"""
ALL = '{"train": DatasetConfig(transform=False), "dev": DatasetConfig(transform=False)}'
ALL_OTHERS = '{"train": DatasetConfig(fit=False, transform=False), "*": DatasetConfig(transform=False)}'
ONE = '{"train": DatasetConfig(transform=False)}'


@pytest.mark.parametrize(("module", "trainer"), [("torch", "TorchTrainer"), ("huggingface", "AccelerateTrainer")])
@pytest.mark.parametrize("config", [ALL, ALL_OTHERS])
@pytest.mark.parametrize(
    ("given", "stays"),
    [
        ("preprocessor", False),
        ("prepared.preprocessor", False),
        ('StandardScaler(columns=["a"])', False),
        ("preprocessor.fit(rows)", True),
    ],
)
def test_a_preprocessor_that_transforms_nothing_is_dropped(
    module: str, trainer: str, config: str, given: str, stays: bool
) -> None:
    first = converted(UNTRANSFORMED.format(module=module, trainer=trainer, config=config, given=given))
    assert "preprocessor=" not in first.text
    assert "transform(" not in first.text
    assert (f"\n    {given}\n    trainer =" in first.text) is stays
    assert len(first.lines("RM502", Kind.NOTE)) == 1
    again = converted(first.text)
    assert again.text == first.text
    assert not again.lines("RM502", Kind.MANUAL)


def test_a_preprocessor_that_transforms_one_dataset_stays() -> None:
    given = UNTRANSFORMED.format(module="torch", trainer="TorchTrainer", config=ONE, given="preprocessor")
    assert len(converted(given).lines("RM502", Kind.MANUAL)) == 1


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ('BatchMapper(fn, batch_format="pandas")', 'for each dataset dataset.map_batches(fn, batch_format="pandas"'),
        (
            'Chain(BatchMapper(fn, batch_format="numpy"), StandardScaler(["x"]))',
            'batch_format="numpy", batch_size=4096), transform(dataset) of the fitted StandardScaler(["x"])',
        ),
        (
            f'BatchMapper(Tokenize("distilbert/distilbert-base-uncased", max_length={10**9}), batch_format="pandas")',
            "for each dataset dataset.map_batches(Tokenize(...), batch_format",
        ),
    ],
)
def test_a_mapper_that_is_used_elsewhere_too_is_no_longer_fitted(given: str, told: str) -> None:
    script = f"{HELPER}from ray.data.preprocessors import StandardScaler\nprep = {given}\nprep.transform(texts).show(1)"
    outcome = converted(TRAINER.format(function=script, given="prep"))
    assert outcome.lines("RM502", Kind.MANUAL)
    (message,) = [message for message in outcome.messages if "no preprocessor argument" in message]
    assert told in message and "fit it on the training data" not in message


def test_a_preprocessor_that_is_still_there_is_fitted_by_hand() -> None:
    script = "from ray.data.preprocessors import StandardScaler\ndef prep(c):\n    return StandardScaler(c)\n"
    messages = converted(TRAINER.format(function=script, given="prep(PAD) if PAD else None")).messages
    assert all("a BatchMapper is gone" not in text for text in messages if "no preprocessor argument" in text)
