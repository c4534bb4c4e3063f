"""RM302: functions that ask for a worker's device or rank, and that Ray Data or another file's driver runs."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import convert, write
from tests.rules.scripts import converted

HELPER = """
import ray
from ray.train.torch import TorchTrainer, get_device
from ray.air import session

def tokenize(batch):
    return {{"x": batch["x"], "on": str({asked})}}

def size():
    return tokenize({{"x": 1}})

class Scorer:
    def __init__(self):
        self.device = {asked}
    def __call__(self, batch):
        return batch

def loop(config):
    print({asked})
"""
MAIN = """
import ray
import helper
from helper import Scorer, TorchTrainer, loop, size, tokenize

def prepare(batch):
    return tokenize(batch)

def main(other):
    ds = ray.data.from_items([{{"x": 1}}])
    {run}
    TorchTrainer(loop).fit()

main([])
"""
ASKED = ("get_device()", "session.get_world_rank()")
RUN = {
    "ds.map_batches(tokenize)": {"tokenize()"},
    "ds.map_batches(fn=tokenize)": {"tokenize()"},
    "ds.map_batches(lambda batch: tokenize(batch))": {"tokenize()"},
    "ds.map_batches(prepare)": {"tokenize()"},
    "ds.map(tokenize)": {"tokenize()"},
    "ds.map_batches(Scorer, concurrency=2)": {"__init__()"},
    "ds.map_batches(Scorer(), concurrency=2)": {"__init__()"},
    "print(size())": {"tokenize()"},
    "pass": set[str](),
    "other.map(tokenize)": set[str](),
    "other.append(tokenize)": set[str](),
}


def told(messages: list[str]) -> set[str]:
    """The functions of which it is told that ray.train raises in them."""
    return {message.partition(" ")[0] for message in messages if "raises a RuntimeError there" in message}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize(("run", "functions"), RUN.items())
def test_what_another_file_runs_without_a_worker_is_told(
    tmp_path: Path, asked: str, run: str, functions: set[str]
) -> None:
    write(tmp_path, {"helper.py": HELPER.format(asked=asked), "main.py": MAIN.format(run=run)})
    found = [finding for finding in convert(tmp_path).findings if finding.code == "RM302"]
    assert told([finding.message for finding in found if finding.kind is Kind.MANUAL]) == functions


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("run", [run for run in RUN if run.startswith("ds.") or run == "pass"])
def test_what_ray_data_runs_is_told_in_one_file(asked: str, run: str) -> None:
    main = MAIN.format(run=run).partition("loop, size, tokenize\n")[2]
    by_driver = "Scorer()" in run and asked == "get_device()"  # then it is told at the call
    assert told(converted(HELPER.format(asked=asked) + main).messages) == ({"This"} if by_driver else RUN[run])


LOOP = """
from ray.air import session

class Loop:
    def __init__(self, size):
        self.size = size

    def __call__(self, config):
        session.report({"rank": session.get_world_rank()})

class Counter:
    def __call__(self, batch):
        session.report({"rank": session.get_world_rank()})
        return batch
"""
CALLED = {
    "TorchTrainer(Loop(1)).fit()": set[str](),
    "loop = Loop(1)\nTorchTrainer(loop).fit()": set[str](),
    "def build(size):\n    return Loop(size)\n\nTorchTrainer(build(1)).fit()": set[str](),
    "loop = Loop(1)\nloop({})": {"__call__() is called"},
    "Loop(1)({})": {"__call__() is called"},
    "ray.data.range(8).map_batches(Counter, concurrency=2)": {"__call__() runs"},
    "ray.data.range(8).map_batches(fn=Counter(), concurrency=2)": {"__call__() runs"},
    "Counter()\nray.data.range(8).map_batches(Counter, concurrency=2)": {"__call__() runs"},
}


@pytest.mark.parametrize(("run", "said"), CALLED.items())
def test_where_an_object_is_made_it_is_not_called(tmp_path: Path, run: str, said: set[str]) -> None:
    head = "import ray\nfrom loops import Counter, Loop\nfrom ray.train.torch import TorchTrainer\n\n"
    write(tmp_path, {"loops.py": LOOP, "main.py": f"{head}{run}\n"})
    found = [f.message for f in convert(tmp_path).findings if f.code == "RM302" and f.kind is Kind.MANUAL]
    assert {" ".join(message.split()[:3])[: len(min(said, default=""))] for message in found} == said


ANEW = """
from ray.air import session
from ray.train.torch import TorchTrainer


def step(rows):
    return 1


def loop(config={{}}):
    return step([1])


{first}


def step(rows):
    return len(rows) // session.get_world_size()


{again}:
    session.report({{"loss": step([1])}})


{last}
TorchTrainer(loop).fit()
"""


@pytest.mark.parametrize(
    ("first", "again", "last", "told"),
    [
        ("loop()", "def loop(config)", "", 0),
        ("loop()\nprint(loop({}), step([]))", "def loop(config)", "", 0),
        ("for _ in range(2):\n    loop()", "def loop(config)", "", 0),
        ("loop()", "def loop(config)", "step([2])", 1),  # the second one
        ("loop()", "def other(config)", "", 1),  # which anything may call later
        ("Thread(target=loop).start()\nloop()", "def loop(config)", "", 1),
        (
            "def test():\n    loop()\n\n\nloop()\nregister(test)",
            "def loop(config)",
            "test()",
            2,
        ),  # the second loop() too
    ],
)
def test_functions_that_a_notebook_defines_anew(first: str, again: str, last: str, told: int) -> None:
    outcome = converted(ANEW.format(first=first, again=again, last=last))
    assert len(outcome.lines("RM302", Kind.MANUAL)) == told
