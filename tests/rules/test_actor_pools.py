"""RM507: functions that Ray Data was to run in a pool of actors, which only classes may have today."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import functools

import ray
from ray.data import ActorPoolStrategy


class Model:
    def __call__(self, batch):
        return batch


def work(batch, n=1):
    return batch


class Job:
    def work(self, batch):
        return batch

    def run(self, ds):
        return ds.map_batches(self.work, compute=ActorPoolStrategy(min_size=1, max_size=3))


ds = ray.data.read_parquet("/in")
"""
FUNCTIONS = {
    "sizes by place": ("ds.map_batches(work, compute=ActorPoolStrategy(1, 4))", "TaskPoolStrategy(size=4)"),
    "a fixed size": ("ds.map(work, compute=ray.data.ActorPoolStrategy(size=2))", "TaskPoolStrategy(size=2)"),
    "a lambda": (
        "ds.flat_map(lambda r: [r], compute=ActorPoolStrategy(min_size=1, max_size=2))",
        "TaskPoolStrategy(size=2)",
    ),
    "groups": ('ds.groupby("a").map_groups(work, compute=ActorPoolStrategy(size=2))', "TaskPoolStrategy(size=2)"),
    "by name": ("ds.map_batches(fn=work, compute=ActorPoolStrategy(size=n))", "TaskPoolStrategy(size=n)"),
    "no limit": ("ds.map_batches(work, compute=ActorPoolStrategy(1))", "ds.map_batches(work)"),
    "no limit that is written": (
        "ds.map_batches(work, compute=ActorPoolStrategy(min_size=1, max_size=None))",
        "ds.map_batches(work)",
    ),
    "no size": ("ds.map_batches(work, compute=ActorPoolStrategy())", "ds.map_batches(work)"),
    "a partial": (
        "ds.map_batches(functools.partial(work, n=2), compute=ActorPoolStrategy(min_size=2))",
        "ds.map_batches(functools.partial(work, n=2))",
    ),
    "groups by its name": ('ds.groupby("a").map_groups(work, compute="actors")', 'ds.groupby("a").map_groups(work)'),
    "by its name": ('ds.map_batches(work, compute="actors")', "ds.map_batches(work)"),
}
CLASSES = {
    "a class": "ds.map_batches(Model, compute=ActorPoolStrategy(min_size=1, max_size=4))",
    "unknown": "def run(fn):\n    return ds.map_batches(fn, compute=ActorPoolStrategy(size=4))",
    "somebody else's": "pool.map(work, compute=Strategy(size=4))",
    "either": "ds.map_batches(work if short else Model, compute=ActorPoolStrategy(size=2))",
}


@pytest.mark.parametrize(("line", "expected"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_functions_run_as_tasks(line: str, expected: str) -> None:
    result = converted(f"{HEAD}{line}\n")
    assert len(result.lines("RM507", Kind.CONVERTED)) == 2  # also that of the class
    assert expected in result.text
    assert "self.work, compute=ray.data.TaskPoolStrategy(size=3)" in result.text


@pytest.mark.parametrize("line", CLASSES.values(), ids=CLASSES)
def test_classes_and_what_cannot_be_seen_keep_their_actors(line: str) -> None:
    result = converted(f"{HEAD}{line}\n")
    assert len(result.lines("RM507", Kind.CONVERTED)) == 1
    assert line in result.text


def test_a_strategy_that_is_shared_is_told() -> None:
    shared = "pool = ActorPoolStrategy(1, 2)\nds.map_batches(Model, compute=pool).map_batches(work, compute=pool)\n"
    result = converted(f"{HEAD}{shared}")
    assert len(result.lines("RM507", Kind.MANUAL)) == 1
    assert "pool = ActorPoolStrategy(min_size=1, max_size=2)" in result.text


@pytest.mark.parametrize(
    "line",
    [
        "ds.map_batches(work, compute=ActorPoolStrategy(size=4) if GPU else None)",
        'ds.map_batches(work, **{"compute": ActorPoolStrategy(size=4)})',
        'given = {"compute": ActorPoolStrategy(size=4)}\nds.map_batches(work, **given)',
    ],
)
def test_a_strategy_that_comes_in_another_way_is_told(line: str) -> None:
    assert len(converted(f"{HEAD}{line}\n").lines("RM507", Kind.MANUAL)) == 1
    of_a_class = line.replace("(work,", "(Model,")
    assert not converted(f"{HEAD}{of_a_class}\n").lines("RM507", Kind.MANUAL)


def test_actors_of_a_class_are_told() -> None:
    outcome = converted(f'{HEAD}ds.map_batches(Model, compute="actors")\n')
    assert outcome.lines("RM507", Kind.MANUAL)
    assert any("ActorPoolStrategy(min_size=1, max_size=n)" in m and "concurrency=" not in m for m in outcome.messages)


def test_an_import_that_nothing_uses_any_more_goes() -> None:
    script = "from ray.data import ActorPoolStrategy, read_parquet\n\n"
    result = converted(f'{script}read_parquet("/in").map(lambda row: row, compute=ActorPoolStrategy(size=n))\n')
    assert "import read_parquet\n" in result.text
    assert "import ray\n" in result.text
