"""Names of libraries that a script takes from another file of its project: what is gone of them is told at the use."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import convert, write

COMMON = """\
import transformers
import ray.train.huggingface as hf
from ray import train
from ray.train import Checkpoint, RunConfig
from ray.air import session
try:
    from ray.tune import Tuner
except ImportError:
    from ray.tune.tuner import Tuner
"""
TAKEN = {
    "star": ("from common import *\n", ""),
    "names": ("from common import Checkpoint, RunConfig, hf, train, transformers, Tuner\n", ""),
    "module": ("import common\n", "common."),
    "module of a package": ("from package import common\n", "common."),
    "dotted": ("import package.common\n", "package.common."),
    "two files": ("from other import *\n", ""),
}
GONE = {
    "hf.TransformersTrainer(print)": "RM692",
    "train.get_world_rank()": "RM692",
    "Checkpoint.from_dict({})": "RM303",
    "Checkpoint.from_bytes(b'')": "RM308",
    "RunConfig(local_dir=a)": "RM693",
    "transformers.TrainingArguments('a', evaluation_strategy='no')": "RM693",
}
THERE = (
    "hf.transformers.prepare_trainer(a)",
    "train.report({})",
    "Checkpoint.from_directory(a)",
    "RunConfig(name=a)",
    "transformers.TrainingArguments('a', eval_strategy='no')",
    "Tuner(print)",
)
BEGIN = "import ray\n"


def files(script: str) -> dict[str, str]:
    """A project with a script, and with what it takes names from."""
    others = {"common.py": COMMON, "other.py": "from common import *\n"}
    return {**others, "package/__init__.py": "", "package/common.py": COMMON, "train.py": BEGIN + script}


@pytest.mark.parametrize(("imports", "owner"), TAKEN.values(), ids=TAKEN)
@pytest.mark.parametrize(("use", "code"), GONE.items())
def test_what_is_gone_is_told_where_it_is_used(tmp_path: Path, imports: str, owner: str, use: str, code: str) -> None:
    write(tmp_path, files(f"{imports}\nprint({owner}{use})\n"))
    told = [found for found in convert(tmp_path).findings if found.path.endswith("train.py")]
    assert [(found.code, found.kind, found.line) for found in told] == [(code, Kind.MANUAL, 4)]


@pytest.mark.parametrize(("imports", "owner"), TAKEN.values(), ids=TAKEN)
@pytest.mark.parametrize("use", THERE)
def test_what_is_there_is_not_told(tmp_path: Path, imports: str, owner: str, use: str) -> None:
    write(tmp_path, files(f"{imports}\nprint({owner}{use})\n"))
    assert not [found for found in convert(tmp_path).findings if found.path.endswith("train.py")]


@pytest.mark.parametrize(
    "script",
    [
        "from common import *\nfrom elsewhere import *\nprint(Checkpoint)\n",
        "from common import *\nclass Checkpoint:\n    from_dict = print\nCheckpoint.from_dict({})\n",
        "from own import Checkpoint\nCheckpoint.from_dict({})\n",
        "from common import *\nif hasattr(Checkpoint, 'from_dict'):\n    print(Checkpoint)\n",
        "from pandas import DataFrame\nimport common\nframe = DataFrame\nframe.from_dict({})\n",
    ],
)
def test_names_of_others_are_not_told(tmp_path: Path, script: str) -> None:
    own = "class Checkpoint:\n    @classmethod\n    def from_dict(cls, data):\n        return cls()\n"
    write(tmp_path, {**files(script), "own.py": own})
    assert not [found for found in convert(tmp_path).findings if found.path.endswith("train.py")]


@pytest.mark.parametrize(
    "use",
    [
        "class Loop:\n    kind = Checkpoint\n\n    def save(self):\n        return self.kind.from_dict({})\n",
        "class Loop:\n    def __init__(self):\n        self.kind = Checkpoint\n\n    def save(self):\n"
        "        return self.kind.from_dict({})\n",
        "kinds = {'a': Checkpoint}\nkinds['a'].from_dict({})\n",
    ],
)
def test_a_class_that_something_holds_is_told(tmp_path: Path, use: str) -> None:
    write(tmp_path, {"train.py": f"from ray.train import Checkpoint\n\n{use}"})
    assert [found.code for found in convert(tmp_path).findings] == ["RM303"]
