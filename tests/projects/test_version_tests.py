"""Conditions on the version of transformers that another file of the project works out."""

from pathlib import Path

import pytest

from tests.projects.files import convert, write

COMPAT = """
import transformers
from packaging import version

_V5 = version.parse(transformers.__version__) >= version.parse("5.0")
NEW = int(transformers.__version__.split(".")[0]) >= 5
_MAJOR = int(transformers.__version__.split(".")[0])
OLDER = _MAJOR < 5
FAST = True
"""
SCRIPT = """
import ray
import compat
import transformers
from compat import _V5, FAST, NEW, OLDER
from packaging import version
from transformers import TrainingArguments

HERE = version.parse(transformers.__version__) >= version.parse("5.0")
{code}
"""
OLD = "TrainingArguments('out', evaluation_strategy='no', report_to='none')"
TODAY = "TrainingArguments('out', eval_strategy='no', report_to='none')"


def told(code: str, folder: Path) -> set[str]:
    write(folder, {"compat.py": COMPAT, "setup.py": ""})
    (folder / "job.py").write_text(SCRIPT.lstrip().format(code=code))
    return {finding.code for finding in convert(folder).findings}


@pytest.mark.parametrize("test", ["_V5", "NEW", "compat.NEW", "compat._V5", "HERE", "not OLDER", "not compat.OLDER"])
def test_a_branch_for_other_versions_stays(test: str, tmp_path: Path) -> None:
    branches = f"if {test}:\n    args = {TODAY}\nelse:\n    args = {OLD}"
    assert not told(branches, tmp_path)
    assert (tmp_path / "job.py").read_text() == SCRIPT.lstrip().format(code=branches)
    keys = f"**({{'eval_strategy': 'no'}} if {test} else {{'evaluation_strategy': 'no'}})"
    assert not told(f"args = TrainingArguments('out', report_to='none', {keys})", tmp_path)


@pytest.mark.parametrize("test", ["compat.FAST", "FAST", "OLDER", "not _V5", "not NEW"])
def test_one_that_runs_today_does_not(test: str, tmp_path: Path) -> None:
    assert told(f"if {test}:\n    args = {TODAY}\nelse:\n    args = {OLD}", tmp_path) == {"RM701"}
