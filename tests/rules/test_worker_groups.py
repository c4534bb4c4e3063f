"""RM723: attributes that the group of workers lost which a Backend of ray.train is given."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from tests.rules.scripts import converted

SCRIPT = """
from ray.train._internal.worker_group import WorkerGroup
from ray.train.backend import Backend
from ray.train.torch.config import TorchConfig, _TorchBackend


class Between(_TorchBackend):
    pass


class Own({base}):
    def {method}(self, {group}, backend_config):
        print({read})


def helper(declared: WorkerGroup, other):
    print({elsewhere})


def on_start(self, group):
    return group.num_workers


def count(handed):
    print({counted})
"""
NOTHING = "other"


def told(
    base: str = "_TorchBackend",
    method: str = "on_start",
    group: str = "group",
    read: str = NOTHING,
    elsewhere: str = NOTHING,
    counted: str = NOTHING,
) -> tuple[list[int], list[str]]:
    places = {"read": read, "elsewhere": elsewhere, "counted": counted}
    outcome = converted(SCRIPT.format(base=base, method=method, group=group, **places))
    return outcome.lines("RM723", Kind.MANUAL), [text for text in outcome.messages if "group of workers" in text]


@pytest.mark.parametrize("base", ["_TorchBackend", "Backend", "Between"])
@pytest.mark.parametrize("method", ["on_start", "on_training_start", "on_shutdown"])
def test_the_group_of_a_backend_is_another_one(base: str, method: str) -> None:
    lines, (message,) = told(base, method, read="group.num_gpus_per_worker")
    assert lines == [12]
    assert 'Read group.get_resources_per_worker().get("GPU", 0).' in message


@pytest.mark.parametrize(
    ("read", "advice"),
    [
        ("group.num_workers", "Read len(group)."),
        ("group.num_cpus_per_worker", 'group.get_resources_per_worker().get("CPU", 0)'),
        ("[worker.metadata for worker in group.workers]", "Call group.get_workers()"),
        ("group.remove_workers([1])", "Take it out"),
    ],
)
def test_what_to_read_is_said(read: str, advice: str) -> None:
    lines, (message,) = told(read=read)
    assert lines == [12] and advice in message


def test_so_it_is_of_what_is_declared_as_one() -> None:
    assert told(elsewhere="declared.num_workers")[0] == [16]
    assert told(group="group: WorkerGroup", read="group.num_workers")[0] == [12]


def test_so_it_is_of_what_a_backend_hands_on() -> None:
    assert told(read="count(group)", counted="handed.num_workers")[0] == [24]
    assert told("object", read="count(group)", counted="handed.num_workers")[0] == []


def test_so_it_is_where_another_file_is_handed_it(tmp_path: Path) -> None:
    (tmp_path / "count.py").write_text("import ray\n\n\ndef count(handed):\n    return handed.num_workers\n")
    own = SCRIPT.format(base="Between", method="on_start", group="group", read="count(group)", elsewhere=0, counted=0)
    own = own.replace("def count(handed)", "def shown(handed)")
    (tmp_path / "own.py").write_text(f"from count import count\n{own}")
    assert "count.py:5:12: RM723 manual" in CliRunner().invoke(main, [str(tmp_path)]).output


@pytest.mark.parametrize(
    ("base", "method", "read"),
    [
        ("Between", "on_start", "len(group), group.execute(print), group.get_workers()"),
        ("object", "on_start", "group.num_workers"),
        ("Between", "start", "group.num_workers"),
        ("Between", "on_start", "backend_config.num_workers, other.workers"),
    ],
)
def test_what_works_is_not_told(base: str, method: str, read: str) -> None:
    assert told(base, method, read=read)[0] == []


def test_the_workers_of_something_else_are_not() -> None:
    assert told(elsewhere="other.num_workers, other.workers")[0] == []
