"""What shell lines and magics of a notebook read of a result or a checkpoint is told where it is gone."""

import json

import pytest

from raymigrate.base.findings import Finding, Kind
from raymigrate.base.options import Options
from raymigrate.documents import open_document
from raymigrate.run.conversion import convert_document

JOB = """from ray.air import ScalingConfig
from ray.train.huggingface import AccelerateTrainer

def loop(config):
    pass

trainer = AccelerateTrainer(loop, accelerate_config={}, scaling_config=ScalingConfig(num_workers=2, use_gpu=True))
result = trainer.fit()
folder = {"a": "b"}"""


def findings(*cells: str, left: bool = False) -> list[Finding]:
    """What is told of the cells behind the one that trains."""
    made = [
        {"cell_type": "code", "metadata": {}, "source": source, "outputs": [], "execution_count": None}
        for source in (JOB, *cells)
    ]
    data = json.dumps({"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": made}).encode()
    result = convert_document(open_document(data, "job.ipynb"), "job.ipynb", Options()).in_cells()
    assert not [finding for finding in result.findings if finding.kind is Kind.ERROR]
    document = result.rewritten if left else None
    return [f for f in (document.remarks if document is not None else result.findings) if f.cell > 1]


@pytest.mark.parametrize(
    ("cell", "place"),
    [
        ("!ls {result.log_dir}", (2, 1, 6)),
        ("print(1)\n!ls $result.log_dir", (2, 2, 6)),
        ("%cd {result.log_dir}", (2, 1, 6)),
        ("files = !ls {result.log_dir}", (2, 1, 14)),
        ("!tensorboard \\\n  --logdir {result.log_dir}", (2, 2, 13)),
    ],
)
def test_what_is_gone_is_told_where_it_stands(cell: str, place: tuple[int, int, int]) -> None:
    [finding] = findings(cell)
    assert (finding.code, finding.kind) == ("RM604", Kind.MANUAL)
    assert (finding.cell, finding.line, finding.column) == place
    assert finding.message.startswith("result.log_dir raises") and "as it is written where it raises" in finding.advice


@pytest.mark.parametrize("cell", ["!ls {result.log_dir}", "%cd $result.log_dir"])
def test_a_line_gets_the_text_and_needs_no_path_object(cell: str) -> None:
    [finding] = findings(cell)
    assert finding.advice.startswith("Write result.path here too.")


def test_a_later_run_says_the_same() -> None:
    assert [finding.code for finding in findings("!ls {result.log_dir}", left=True)] == ["RM604"]


@pytest.mark.parametrize(
    "cell",
    [
        "!ls {result.path} {folder['a']} $HOME {folder}",
        "!awk '{print $1.log_dir}' x",
        "!echo {{result.log_dir}} $$result.log_dir",
        "!ls {other.log_dir}",
        "!ls {result.log_dir",
        "!ls {result.log_dir}  # raymigrate: skip[RM604]",
        "%%bash\nls {result.log_dir}",
        "%time folder = dict(x={1})",
    ],
)
def test_else_there_is_nothing_to_say(cell: str) -> None:
    assert not [finding for finding in findings(cell) if finding.kind is Kind.MANUAL]


@pytest.mark.parametrize(
    "later", ["result = None", "del result", "result = load('x')", "for result in folder:\n    pass"]
)
@pytest.mark.parametrize("same_cell", [False, True])
@pytest.mark.parametrize(
    "line",
    [
        "!ls {result.log_dir}",
        "if folder:\n    !ls {result.log_dir}",
        "for each in folder:\n    print(each)\n    each = !ls $result.log_dir/x",
        "def show(found):\n    !ls {found.log_dir}\nshow(result)",
        "%cd {result.log_dir}",
    ],
)
def test_names_have_the_values_of_the_place(line: str, later: str, *, same_cell: bool) -> None:
    cells = [f"{line}\n{later}"] if same_cell else [line, later]
    assert [(f.code, f.cell) for f in findings(*cells) if f.kind is Kind.MANUAL] == [("RM604", 2)]


@pytest.mark.parametrize("earlier", ["result = load('x')", "result = folder", "class result:\n    log_dir = 'x'"])
def test_what_another_value_has_is_its_own(earlier: str) -> None:
    assert not [f for f in findings(earlier, "!ls {result.log_dir}") if f.kind is Kind.MANUAL]
    assert not [f for f in findings(f"{earlier}\n!ls {{result.log_dir}}", "pass") if f.kind is Kind.MANUAL]


def test_python_behind_a_magic_is_told_once() -> None:
    assert len([f for f in findings("%time open(f'{result.log_dir}/x')") if f.code == "RM604"]) == 1
