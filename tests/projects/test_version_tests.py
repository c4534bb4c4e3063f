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
import os
import ray
import compat
import transformers
import transformers as tf
import yaml
from compat import _V5, FAST, NEW, OLDER
from importlib.metadata import version as version_of
import sentence_transformers
from other import get_distribution, is_new, is_transformers_version, is_v5, versions
from packaging import version
from transformers import TrainingArguments, __version__ as ours

CONFIG = yaml.safe_load(open("configs/deberta-v4.yaml"))
NAME, KIND = "microsoft/phi-v4", "v5"
MODEL = transformers.AutoConfig.from_pretrained("transformers", revision=CONFIG["version"])
HERE = version.parse(transformers.__version__) >= version.parse("5.0")
{code}
"""
OLD = "TrainingArguments('out', evaluation_strategy='no', report_to='none')"
TODAY = "TrainingArguments('out', eval_strategy='no', report_to='none')"


def told(code: str, folder: Path) -> set[str]:
    write(folder, {"compat.py": COMPAT, "setup.py": ""})
    (folder / "job.py").write_text(SCRIPT.lstrip().format(code=code))
    return {finding.code for finding in convert(folder).findings}


TESTS = [
    *("_V5", "NEW", "compat.NEW", "compat._V5", "HERE", "not OLDER", "not compat.OLDER"),
    *("is_v5()", "compat.is_hf_v5", "is_transformers_version('>=', '5')", "os.getenv('TRANSFORMERS_VERSION') > '5'"),
    *("tf.__version__ >= '5.0'", "ours >= '5.0'", "version_of('transformers') >= '5.0'"),
    *("is_new('transformers', min_version='5')", "get_distribution('transformers').version >= '5.0'"),
    "versions['transformers'] >= '5.0'",
]


@pytest.mark.parametrize("test", TESTS)
def test_a_branch_for_other_versions_stays(test: str, tmp_path: Path) -> None:
    branches = f"if {test}:\n    args = {TODAY}\nelse:\n    args = {OLD}"
    assert not told(branches, tmp_path)
    assert (tmp_path / "job.py").read_text() == SCRIPT.lstrip().format(code=branches)
    keys = f"**({{'eval_strategy': 'no'}} if {test} else {{'evaluation_strategy': 'no'}})"
    assert not told(f"args = TrainingArguments('out', report_to='none', {keys})", tmp_path)


@pytest.mark.parametrize(
    "test",
    [
        *("compat.FAST", "FAST", "OLDER", "not _V5", "not NEW"),
        *("not CONFIG['train']", "not CONFIG.get('v5')", "FAST != NAME", "FAST == 'v5'", "KIND == FAST", "MODEL.fast"),
        *("FAST and compat.version == 1 and isinstance(MODEL, transformers.BertModel)", "version_of('torch') > '2'"),
        *("sentence_transformers.__version__ < '2'", "transformers.utils.logging.get_verbosity() > 3"),
        "transformers.AutoConfig.from_pretrained(FAST).version == '2'",
    ],
)
def test_one_that_runs_today_does_not(test: str, tmp_path: Path) -> None:
    assert told(f"if {test}:\n    args = {TODAY}\nelse:\n    args = {OLD}", tmp_path) == {"RM701"}
