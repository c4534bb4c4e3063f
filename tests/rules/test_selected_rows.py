"""RM520: rows that were selected, and that from_huggingface() before Ray 2.6 did not see."""

from textwrap import dedent

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
from datasets import DatasetDict, concatenate_datasets, interleave_datasets, load_dataset
import ray
from ray.air import session

raw = load_dataset("org/data")
train = raw["train"]
"""
SELECTED = {
    "shuffled": ("rows = train.shuffle(seed=1)", "shuffle()"),
    "a piece of what is shuffled": ("rows = train.shuffle(1).select(range(9))", "shuffle() and select()"),
    "step by step": ("rows = train.shuffle(1)\nrows = rows.filter(long).flatten()", "shuffle() and filter()"),
    "no piece": ("rows = train.select(range(0, 9, 2))", "select()"),
    "of a split": ("parts = train.map(encode).train_test_split(0.1)\nrows = parts['test']", "train_test_split()"),
    "stored by its key": ("raw['train'] = train.sort('length')\nrows = raw['train']", "sort()"),
    "of each split": ("small = {'a': train.shuffle(1), 'b': raw}\nfor rows in small.values():\n    pass", "shuffle()"),
    "put together": ("rows = concatenate_datasets([part.shuffle(i) for i, part in enumerate(parts)])", "shuffle()"),
    "interleaved": ("rows = interleave_datasets([train, raw['test']])", "interleave_datasets()"),
    "a DatasetDict": ("rows = DatasetDict(train=train.shard(4, 0))", "shard()"),
    "by a function": ("def load():\n    return raw.shuffle(1)['test']\nrows = load()", "shuffle()"),
}
WHOLE = {
    "nothing": "rows = train",
    "written anew": "rows = train.shuffle(1).select(range(9)).map(encode)",
    "a piece": "rows = train.select(range(9)).rename_column('a', 'labels')",
    "a list of a piece": "numbers = list(range(4, 9))\nrows = train.select(numbers)",
    "in their order": "rows = train.train_test_split(0.1, shuffle=False)['train']",
    "put together as they are": "rows = concatenate_datasets(dsets=[train, raw['test'].select(range(9))])",
    "pieces by name": "rows = train.shard(num_shards=4, index=0, contiguous=True)",
    "another key": "raw['train'] = train.shuffle(1)\nrows = raw['test']",
    "by Ray": "rows = train\nmixed = ray.data.from_huggingface(rows).random_shuffle()",
}
CALL = "\ndata = ray.data.from_huggingface(rows)\n"


@pytest.mark.parametrize(("made", "methods"), SELECTED.values(), ids=SELECTED)
def test_what_had_no_effect_is_named(made: str, methods: str) -> None:
    outcome = converted(HEAD + made + CALL)
    assert outcome.lines("RM520", Kind.NOTE)
    assert any(f"order: {methods} had no effect" in message for message in outcome.messages)


@pytest.mark.parametrize("made", WHOLE.values(), ids=WHOLE)
def test_what_the_table_holds_is_taken_by_every_ray(made: str) -> None:
    assert not converted(HEAD + made + CALL).lines("RM520", Kind.NOTE)


@pytest.mark.parametrize(("ray", "told"), [("2.5", True), ("2.6", False)])
def test_ray_follows_a_selection_since_2_6(ray: str, told: bool) -> None:
    script = dedent(HEAD) + SELECTED["shuffled"][0] + CALL
    assert bool(converted(script, from_ray=ray).lines("RM520", Kind.NOTE)) is told
    assert not converted(script.replace("from ray.air import session\n", "")).lines("RM520", Kind.NOTE)  # of no old job


@pytest.mark.parametrize(
    ("end", "count"),
    [
        ("a, b = ray.data.from_huggingface(train.shuffle(1)), ray.data.from_huggingface(raw['test'].shuffle(2))", 1),
        ("a = ray.data.from_huggingface(train.shuffle(1))\nb = ray.data.from_huggingface(train.shuffle(2))", 2),
        ("a, b = ray.data.from_huggingface(train.shuffle(1)), ray.data.from_huggingface(raw['test'].sort('a'))", 2),
    ],
)
def test_one_line_is_told_the_same_once(end: str, count: int) -> None:
    assert len(converted(f"{HEAD}{end}\nsession.report({{}})\n").lines("RM520", Kind.NOTE)) == count
