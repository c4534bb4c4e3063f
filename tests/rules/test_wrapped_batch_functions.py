"""RM503 and RM508: functions of batches that are filled with arguments, methods, or that hand their batch on."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import functools
import pandas as pd
import ray
from ray.air import session


def clean(frame, column="text"):
    return frame.dropna(subset=[column]).reset_index(drop=True)


def add(batch, column):
    batch[column] += 1
    return batch


def later(column, batch):
    batch[column].sort()
    return batch


def copied(batch):
    batch = dict(batch)
    return add_to_copy(batch)


def add_to_copy(batch):
    return {{"n": batch["n"] + 1}}


def twice(batch):
    batch = clean(batch)
    return batch


def loop(batch):
    return loop(batch)


class Job:
    def __init__(self, column):
        self.column = column

    def clean(self, frame):
        return clean(frame, self.column)

    @staticmethod
    def add(batch):
        batch["n"] += 1
        return batch

    def run(self):
        rows = ray.data.read_parquet("rows")
        return {of_method}


rows = ray.data.read_parquet("rows")
rows = {given}
session.report({{}})
"""


def lines(rule: str, given: str, of_method: str = "rows") -> list[int]:
    return converted(SCRIPT.format(given=given, of_method=of_method)).lines(rule, Kind.CONVERTED)


@pytest.mark.parametrize(
    "given",
    [
        'rows.map_batches(functools.partial(clean, column="text"))',
        'rows.map_batches(functools.partial(functools.partial(clean), column="text"))',
        "rows.map_batches(functools.partial(functools.partial(lambda a, b, batch: clean(batch, a), 'text'), 2))",
        "rows.map_batches(functools.partial(clean, **options))",
        "rows.map_batches(lambda batch: clean(batch))",
        'rows.map_batches(lambda batch: clean(frame=batch, column="text"))',
        "rows.map_batches(twice)",
        "rows.map_batches(functools.partial(lambda name, batch: clean(batch, name), 'text'))",
        'rows.map_batches(Job("text").clean)',
    ],
)
def test_a_function_that_is_wrapped_gets_the_frame_that_it_uses(given: str) -> None:
    assert lines("RM508", given)
    assert 'batch_format="pandas"' in converted(SCRIPT.format(given=given, of_method="rows")).text


@pytest.mark.parametrize(
    "given",
    [
        'rows.map_batches(functools.partial(add, column="n"), batch_format="numpy")',
        'rows.map_batches(functools.partial(later, "n"), batch_format="numpy")',
        'rows.map_batches(lambda batch: add(batch, "n"), batch_format="numpy")',
        'rows.map_batches(lambda batch: later("n", batch), batch_format="numpy")',
        'rows.map_batches(Job.add, batch_format="numpy")',
    ],
)
def test_a_function_that_is_wrapped_gets_a_copy_that_it_changes(given: str) -> None:
    assert lines("RM503", given)


@pytest.mark.parametrize("of_method", ["rows.map_batches(self.clean)", "rows.map_batches(lambda b: self.clean(b))"])
def test_a_method_of_the_object_is_seen(of_method: str) -> None:
    assert lines("RM508", "rows.limit(5)", of_method)


@pytest.mark.parametrize(
    "given",
    [
        'rows.map_batches(lambda batch: clean(pd.DataFrame(batch), "text"))',
        'rows.map_batches(functools.partial(add, "n"))',  # the batch is the column there
        "rows.map_batches(functools.partial(clean, frame=known))",
        "rows.map_batches(functools.partial(functools.partial(clean, frame=known)))",
        "rows.map_batches(functools.partial(functools.partial(clean, *options), 'text'))",
        "rows.map_batches(copied)",
        "rows.map_batches(loop)",
        "rows.map_batches(functools.partial(clean, *options))",
        'rows.map_batches(lambda batch: {"n": add_to_copy(batch)["n"]})',
    ],
)
def test_other_functions_get_what_they_got(given: str) -> None:
    assert not lines("RM508", given) and not lines("RM503", given)


MAPPER = """
import functools
from ray.air.config import ScalingConfig
from ray.data.preprocessors import BatchMapper
from ray.train.huggingface import TransformersTrainer
from transformers import Trainer, TrainingArguments


def encode(batch, name):
    return {{"input_ids": tokens(list(batch["text"]), name)}}


def change(batch, name):
    batch["n"] *= 2
    return batch


def init(train_dataset, eval_dataset=None, **config):
    return Trainer(make(), TrainingArguments("out"), train_dataset=train_dataset)


TransformersTrainer(
    init,
    scaling_config=ScalingConfig(num_workers=2, use_gpu=True),
    datasets={{"train": rows}},
    preprocessor=BatchMapper({given}, batch_format="numpy"),
)
"""


@pytest.mark.parametrize(
    ("given", "is_copied"),
    [
        ('functools.partial(encode, name="x")', False),
        ('functools.partial(change, name="x")', True),
        ('lambda batch: change(batch, "x")', True),
        ('lambda batch: encode(batch, "x")', False),
        ('functools.partial(unseen, name="x")', True),
    ],
)
def test_the_function_of_a_batch_mapper_gets_a_copy_only_if_it_may_change_it(given: str, *, is_copied: bool) -> None:
    assert ("zero_copy_batch=False" in converted(MAPPER.format(given=given)).text) is is_copied


FRAMES = """
from functools import partial
import ray
from ray.air import session


def lengths(tokenizer, batch):
    return {{"n": tokenizer(batch["text"].values)}}


def listed(tokenizer, batch):
    return {{"n": tokenizer(list(batch["text"]))}}


rows = ray.data.read_parquet("rows").map_batches({given}, batch_format="pandas")
session.report({{}})
"""


@pytest.mark.parametrize(
    ("given", "differs"),
    [
        ("partial(lengths, tokenizer)", True),
        ("partial(listed, tokenizer)", False),
        ("lambda batch: lengths(tokenizer, batch)", True),
        ("lambda batch: listed(tokenizer, batch)", False),
    ],
)
def test_the_frame_that_comes_after_the_filled_arguments_may_be_one_of_arrow(given: str, *, differs: bool) -> None:
    assert bool(converted(FRAMES.format(given=given)).lines("RM515", Kind.CONVERTED)) is differs


def test_a_function_that_a_loop_wraps_again_and_again_has_an_end() -> None:
    loop = "rows\nfor name in options:\n    clean = functools.partial(clean, column=name)\nrows.map_batches(clean)"
    outcome = converted(SCRIPT.format(given=loop, of_method="rows"))
    assert outcome.findings and not outcome.lines("RM901")


NAMED = """
import ray
from ray.air import session


def first(batch):
    {body}
    return batch


ds = ray.data.range(9).map_batches(first, batch_format="numpy")
"""


@pytest.mark.parametrize(
    ("body", "changes"),
    [
        ("column = batch['n']\n    column[0] = 1", True),
        ("column: object = batch['n']\n    column[0] = 1", True),
        ("print(column := batch['n'])\n    column[0] = 1", True),
        ("column: object = batch['n'].copy()\n    column[0] = 1", False),
        ("column: object\n    column = batch['n'] + 1\n    column[0] = 1", False),
        ("batch = dict(batch)\n    batch['n'] += 1", True),
        ("batch = batch.copy()\n    batch['n'][0] = 1", True),
        ("batch: dict = {**batch, 'm': 1}\n    batch['n'].sort()", True),
        ("batch = dict(batch)\n    batch['n'] = batch['n'] + 1", False),
        ("batch = {**batch, 'n': batch['n'].copy()}\n    batch['n'] += 1", False),
        ("batch = dict(batch, n=batch['n'] + 1)\n    batch['n'] *= 2", False),
        ("batch = dict(batch, m=1)\n    batch['n'] *= 2", True),
        ("batch = {name: values.copy() for name, values in batch.items()}\n    batch['n'] += 1", False),
        ("batch: dict = {name: values.copy() for name, values in batch.items()}\n    batch['n'] += 1", False),
    ],
)
def test_a_name_for_the_batch_or_a_part_of_it_may_have_an_annotation(body: str, *, changes: bool) -> None:
    assert bool(converted(NAMED.format(body=body)).lines("RM503")) is changes
