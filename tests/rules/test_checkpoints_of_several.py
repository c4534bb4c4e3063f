"""RM304, RM308 and RM602: checkpoints that are taken out of a list or dict of them, and those of results on disk."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import os
import sys
from dataclasses import dataclass, field
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

import torch
from ray.air import Checkpoint, Result

"""
SEVERAL = {
    "made of each argument": "many = [Checkpoint.from_uri(u) for u in sys.argv[1:]]\nfor c in many:\n    c.to_dict()",
    "one of them": "many = [Checkpoint.from_uri(u) for u in sys.argv[1:]]\nmany[0].to_dict()",
    "filled": "many = []\nfor u in sys.argv:\n    many.append(Checkpoint.from_uri(u))\nfor c in many:\n    c.to_dict()",
    "values": "many = {u: Checkpoint.from_uri(u) for u in sys.argv}\nfor k, c in many.items():\n    c.to_dict()",
    "keyed": "many = [Checkpoint.from_uri(u) for u in sys.argv]\nbest = max(many, key=lambda c: c.to_dict()['a'])",
    "a parameter": "def merge(many: List[Checkpoint]):\n    return [c.to_dict() for c in many]",
    "an optional one": "def merge(many: Optional[Sequence[Checkpoint]] = None):\n    return many[-1].to_dict()",
    "or none": "def merge(many: list[Checkpoint] | None):\n    for c in reversed(many):\n        c.to_dict()",
    "as text": "def merge(many: 'list[Checkpoint]'):\n    for i, c in enumerate(many):\n        c.to_dict()",
    "a dict": "def merge(many: Dict[str, Checkpoint]):\n    for c in many.values():\n        c.to_dict()",
    "a dict as text": "def merge(many: 'Mapping[str, Checkpoint]'):\n    return many['a'].to_dict()",
    "a tuple": "def merge(many: Tuple[Checkpoint, ...]):\n    for c in many:\n        c.to_dict()",
    "a field": "@dataclass\nclass Runs:\n    many: List[Checkpoint] = field(default_factory=list)\n\n"
    "    def read(self):\n        return [c.to_dict() for c in self.many]",
    "of a result": "c = Result.from_path(sys.argv[1]).checkpoint\nc.to_dict()",
    "the best of a result": "for c, m in Result.from_path(sys.argv[1]).best_checkpoints:\n    c.to_dict()",
    "of results": "for r in [Result.from_path(u) for u in sys.argv]:\n    r.checkpoint.to_dict()",
    "of a list of results": "runs = [Result.from_path(u) for u in sys.argv]\n"
    "for c in [r.checkpoint for r in runs]:\n    c.to_dict()",
}
OTHERS = {
    "of something else": "rows = [Row(u) for u in sys.argv]\nfor c in rows:\n    c.to_dict()",
    "names": "def merge(many: Dict[str, Checkpoint]):\n    for c in many:\n        c.to_dict()",
    "names as text": "def merge(many: 'Dict[str, Checkpoint]'):\n    for c in sorted(many):\n        c.to_dict()",
    "keys": "def merge(many: Dict[Checkpoint, Row]):\n    for c in many.values():\n        c.to_dict()",
    "a list beside it": "def merge(many: List[Checkpoint], rows: List[Row]):\n    for c in rows:\n        c.to_dict()",
    "its own items": "rows = []\nfor r in rows:\n    rows.append(r)\n    r.to_dict()",
    "a mixture": "many = [Checkpoint.from_uri('s3://a'), Row()]\nfor c in many:\n    c.to_dict()",
    "pairs": "many = [(u, Checkpoint.from_uri(u)) for u in sys.argv]\nfor c in many:\n    c.to_dict()",
}


@pytest.mark.parametrize("body", SEVERAL.values(), ids=SEVERAL)
def test_one_of_several_checkpoints_is_one(body: str) -> None:
    outcome = converted(HEAD + body)
    assert outcome.lines("RM304", Kind.MANUAL)
    assert not any("If this is" in message for message in outcome.messages)


@pytest.mark.parametrize("body", OTHERS.values(), ids=OTHERS)
def test_what_may_be_something_else_is_left_alone(body: str) -> None:
    assert not converted(HEAD + body).lines("RM304", Kind.MANUAL)


def test_what_is_gone_from_the_checkpoint_of_a_result_on_disk_is_told() -> None:
    body = "c = Result.from_path(sys.argv[1]).checkpoint\nprint(c._local_path)\nc.get_internal_representation()\n"
    assert len(converted(HEAD + body).lines("RM308", Kind.MANUAL)) == 2


@pytest.mark.parametrize(
    "head",
    [
        "def merge(many: List[Checkpoint]):",
        "many = [Checkpoint.from_uri(u) for u in sys.argv]\nif many:",
    ],
)
def test_the_weights_in_each_lie_in_a_folder_of_it(head: str) -> None:
    body = f"""{head}
    for c in many:
        with c.as_directory() as d:
            torch.load(os.path.join(d, "pytorch_model.bin"))
"""
    outcome = converted(HEAD + body)
    assert 'os.path.join(transformers_dir(d), "pytorch_model.bin")' in outcome.text
    assert outcome.lines("RM602", Kind.MANUAL)
