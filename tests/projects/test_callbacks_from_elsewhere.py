"""RM408: loggers that a RunConfig gets from elsewhere: from another class of `self`, from a file that fills a list."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Finding, Kind
from tests.projects.files import convert, write

BASE = """from ray.air.config import RunConfig, ScalingConfig
from ray.air.integrations.mlflow import MLflowLoggerCallback
from ray.train.torch import TorchTrainer


def loop(config):
    pass


class Job:
    name = "job"
    loggers = []

    def callbacks(self):
        return []

    @property
    def trackers(self):
        return []

    def run(self):
        found = self.callbacks()
        config = RunConfig(name=self.name, callbacks=ASKED)
        return TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2), run_config=config).fit()
"""
LOGGER = 'MLflowLoggerCallback(experiment_name="e")'
IMPORTS = "from base import Job\nfrom ray.air.integrations.mlflow import MLflowLoggerCallback\n"
OVERRIDES = {
    "self.callbacks()": f"    def callbacks(self):\n        return [{LOGGER}]\n",
    "self.trackers": f"    @property\n    def trackers(self):\n        return [{LOGGER}]\n",
    "self.loggers": f"    loggers = [{LOGGER}]\n",
    "found": f"    def callbacks(self):\n        return [{LOGGER}]\n",
    "[*self.callbacks()]": f"    def callbacks(self):\n        return [*super().callbacks(), {LOGGER}]\n",
    "list(self.callbacks())": f"    def callbacks(self):\n        a = []\n        a += [{LOGGER}]\n        return a\n",
}


def told(folder: Path, asked: str, files: dict[str, str]) -> list[Finding]:
    """What is told of the callbacks in the base class."""
    base = BASE.replace("ASKED", asked) + files.pop("base.py", "")
    write(folder, {"setup.py": "", "base.py": base, **files})
    return [found for found in convert(folder).findings if found.code == "RM408"]


@pytest.mark.parametrize(("asked", "override"), OVERRIDES.items(), ids=OVERRIDES)
@pytest.mark.parametrize("place", ["base.py", "own.py", "mixin.py"])
def test_loggers_of_another_class_are_told_where_they_are_asked_for(
    tmp_path: Path, asked: str, override: str, place: str
) -> None:
    files = {
        "base.py": {"base.py": f"\n\nclass Own(Job):\n{override}"},
        "own.py": {"own.py": f"{IMPORTS}\n\nclass Own(Job):\n{override}"},
        "mixin.py": {
            "mixin.py": f"{IMPORTS.split(chr(10), 1)[1]}\n\nclass Mixin:\n{override}",
            "own.py": "from base import Job\nfrom mixin import Mixin\n\n\nclass Own(Mixin, Job):\n    pass\n",
        },
    }[place]
    (found,) = told(tmp_path, asked, files)
    assert (found.kind, Path(found.path).name) == (Kind.MANUAL, "base.py")
    assert found.message.startswith("RunConfig(callbacks=) raises for MLflowLoggerCallback")


@pytest.mark.parametrize(
    "other",
    [
        f"\n\nclass Other:\n    def callbacks(self):\n        return [{LOGGER}]\n",
        f"\n\nclass Own(Job):\n    def trackers(self):\n        return [{LOGGER}]\n",
        "\n\nclass Own(Job):\n    def callbacks(self):\n        return [UserOne()]\n\n\nclass UserOne:\n    pass\n",
    ],
    ids=["no kin", "another name", "no logger of Tune"],
)
def test_what_no_object_of_the_class_gives_is_not(tmp_path: Path, other: str) -> None:
    assert not told(tmp_path, "self.callbacks()", {"base.py": other})


OVERRIDDEN = f"""

class Own(Job):
    def callbacks(self):
        return [{LOGGER}]


class Quiet(Own):
    def callbacks(self):
        return []

    def again(self):
        config = RunConfig(callbacks=self.callbacks())
        return TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2), run_config=config).fit()
"""


def test_what_a_subclass_puts_nothing_in_the_place_of_is_not_given(tmp_path: Path) -> None:
    (found,) = told(tmp_path / "a", "self.callbacks()", {"base.py": OVERRIDDEN})
    asked_in_job = found.line
    asks = OVERRIDDEN.replace("return []", "return super().callbacks()")
    in_job, in_quiet = told(tmp_path / "b", "self.callbacks()", {"base.py": asks})
    assert in_job.line == asked_in_job < in_quiet.line


FILLED = "from base import CALLBACKS as found\nimport base\n"


@pytest.mark.parametrize(
    ("fill", "is_told"),
    [
        (f"found.append({LOGGER})", True),
        (f"base.CALLBACKS.extend([{LOGGER}])", True),
        (f"other = []\nother.append({LOGGER})", False),
        ("found.append(Own())", False),
    ],
)
def test_loggers_that_another_file_puts_into_a_list_are_told(tmp_path: Path, fill: str, *, is_told: bool) -> None:
    main = f"{FILLED}{IMPORTS.split(chr(10), 1)[1]}\n\nclass Own:\n    pass\n\n\n{fill}\nbase.Job().run()\n"
    files = {"base.py": "\n\nCALLBACKS = []\n", "main.py": main}
    assert bool(told(tmp_path, "CALLBACKS", files)) is is_told
