"""RM506 for shards that objects hold, that functions give or are given, and that a loop gives one after the other."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import ray
from ray import train
from ray.train.torch import TorchTrainer

{before}

def loop(config):
{body}

TorchTrainer(loop, datasets={{"train": ray.data.range(3)}}).fit()
"""
HELD = (
    "class Held:\n    def __init__(self):\n        self.rows = {0}\n\n    def size(self):\n"
    "        return self.rows.count()"
)
SHARD = "train.get_dataset_shard('train')"
CASES = [
    (HELD.format(SHARD), "    print(Held().size())"),
    (HELD.format(SHARD).replace("count", "iter_rows"), "    print(Held().rows.count())"),
    (f"def get():\n    return {SHARD}", "    print(get().to_pandas())"),
    (f"def get():\n    return {SHARD}, 1", "    rows, other = get()\n    print(rows.take(2))"),
    ("def size(rows):\n    return rows.count()", f"    print(size({SHARD}))"),
    ("", f"    shards = {{'a': {SHARD}}}\n    for name, rows in shards.items():\n        print(rows.repeat(2))"),
    ("", f"    rows = {SHARD}\n    print({{'a': rows}}[config].count())"),
    ("", f"    rows = {SHARD}\n    shards = {{'a': rows}}\n    print(shards.get(config).count())"),
    ("", f"    for rows in [{SHARD}]:\n        print(rows.map_batches(print))"),
]


@pytest.mark.parametrize(("before", "body"), CASES)
def test_what_a_shard_lacks_is_told(before: str, body: str) -> None:
    outcome = converted(SCRIPT.format(before=before, body=body))
    assert len(outcome.lines("RM506", Kind.MANUAL)) == 1


@pytest.mark.parametrize(
    ("before", "body"),
    [
        (HELD.format("ray.data.range(3)"), "    print(Held().size())"),
        (HELD.format(SHARD + ".materialize()"), "    print(Held().size())"),
        (HELD.format(SHARD).replace("rows.count()", "rows.iter_rows()"), "    print(Held().size())"),
        ("def size(rows):\n    return rows.count()\n\nsize(ray.data.range(3))", f"    print(size({SHARD}))"),
        ("import own", f"    shards = {{'a': {SHARD}}}\n    print(shards.get(config, own.rows).count())"),
        (
            HELD.format(SHARD).replace("return self.rows.count()", "return 1"),
            "    print(Held().size(), 'a'.count('a'))",
        ),
        (
            HELD.format(SHARD).replace("rows.count()", "rows.count() if hasattr(self.rows, 'count') else 0"),
            "    print(Held().size())",
        ),
    ],
)
def test_what_others_have_is_not_told(before: str, body: str) -> None:
    assert not converted(SCRIPT.format(before=before, body=body)).lines("RM506", Kind.MANUAL)
