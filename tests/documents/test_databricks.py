"""Notebooks that Databricks exports: a single percent sign gives a cell another language."""

import json
from pathlib import Path

import pytest

from raymigrate.base.findings import Finding
from raymigrate.base.options import Options
from scripts.update_twins import converted
from tests.documents.notebooks import notebook, sources

METADATA = {"application/vnd.databricks.v1+notebook": {"language": "python", "notebookName": "train"}}
USE = "import ray\nfrom ray.air import session\n\nsession.report({})"


def convert(*cells: str) -> tuple[list[str], list[Finding]]:
    content = {**notebook(cells), "metadata": METADATA}
    after, result = converted(Path("train.ipynb"), Options(), json.dumps(content, indent=1).encode())
    return ["".join(lines) for lines in sources(after)[1:]], result.findings


@pytest.mark.parametrize(
    "cell",
    [
        "%sh\nray start --head --port=6379",
        "%sql\nselect * from ray_runs",
        "%md\nHow `TransformersTrainer` works",
        "%fs ls",
    ],
)
def test_cells_of_other_languages_do_not_stop_the_others(cell: str) -> None:
    (left, use), findings = convert(cell, USE)
    assert left == cell
    assert "ray.train.report({})" in use
    assert {finding.code for finding in findings} == {"RM302"}


def test_python_below_a_magic_is_converted() -> None:
    first, second = convert("%python\n" + USE, "%pip install x\nsession.get_world_rank()")[0]
    assert first.startswith("%python\n") and "ray.train.report({})" in first
    assert second.startswith("%pip install x\nray.train.get_context()")


def test_legacy_code_in_a_shell_is_told_and_prose_is_not() -> None:
    code = "from ray.air import session"
    findings = convert(f"%sh\ncat > job.py <<E\n{code}\nE", f"%md\n{code}", "import ray")[1]
    assert [(f.code, f.cell) for f in findings] == [("RM905", 2)]
