"""RM207: an accelerate_config in an attribute of `self`, where another file may set it too, or reads it."""

from pathlib import Path

import pytest

from tests.projects.files import convert, write

RUNNER = """
from accelerate import Accelerator
from ray.air import ScalingConfig
from ray.train.huggingface import AccelerateTrainer


def loop(config):
    accelerator = Accelerator()


class Runner:
    def __init__(self, workers):
        self.workers = workers
        self.settings = {"mixed_precision": "bf16"}

    def build(self):
        scaling = ScalingConfig(num_workers=self.workers, use_gpu=True)
        return AccelerateTrainer(loop, accelerate_config=self.settings, scaling_config=scaling)
"""
IMPORTS = "from runner import Runner\n\n"


def converted(folder: Path, main: str) -> tuple[str, bool]:
    """The converted class, and whether its accelerate_config was said to be unreadable."""
    write(folder, {"setup.py": "", "runner.py": RUNNER, "main.py": IMPORTS + main})
    found = convert(folder).findings
    return (folder / "runner.py").read_text(), "RM207" in {finding.code for finding in found}


@pytest.mark.parametrize(
    ("main", "stays"),
    [("Runner(2).build().fit()\n", False), ("one = Runner(2)\nprint(one.settings)\none.build().fit()\n", True)],
    ids=["not named", "read"],
)
def test_what_no_other_file_sets_is_read(tmp_path: Path, main: str, stays: bool) -> None:
    text, told = converted(tmp_path, main)
    assert 'Accelerator(mixed_precision="bf16")' in text and not told
    assert ("self.settings =" in text) is stays


@pytest.mark.parametrize(
    "main",
    [
        'one = Runner(2)\none.settings = {"mixed_precision": "no"}\none.build().fit()\n',
        'one = Runner(2)\none.settings["mixed_precision"] = "no"\none.build().fit()\n',
        'class Own(Runner):\n    def __init__(self):\n        self.settings = {"mixed_precision": "no"}\n',
        'class Own(Runner):\n    settings = {"mixed_precision": "no"}\n\n    def __init__(self):\n        pass\n',
    ],
    ids=["set", "filled", "derived", "derived body"],
)
def test_what_another_file_may_set_is_told(tmp_path: Path, main: str) -> None:
    text, told = converted(tmp_path, main)
    assert "accelerate_config=self.settings" in text and told


@pytest.mark.parametrize(
    ("helper", "told"),
    [
        ("print(runner.settings)", False),
        ('runner.settings["mixed_precision"] = "no"', True),
        ('runner.settings = {"mixed_precision": "no"}', True),
        ("print(runner.workers)", False),
        ("pass\n\nclass Own:\n    def __init__(self):\n        self.settings = {}\n", False),
    ],
    ids=["read", "filled", "set", "other", "of another class"],
)
def test_what_a_file_that_gets_the_object_does_with_it_counts(tmp_path: Path, helper: str, told: bool) -> None:
    given = RUNNER.replace("        scaling =", "        helpers.check(self)\n        scaling =")
    files = {"runner.py": f"import helpers\n{given}", "helpers.py": f"def check(runner):\n    {helper}\n"}
    write(tmp_path, {"setup.py": "", "main.py": f"{IMPORTS}Runner(2).build().fit()\n", **files})
    found = {finding.code for finding in convert(tmp_path).findings}
    text = (tmp_path / "runner.py").read_text()
    assert ("RM207" in found) is told and ("accelerate_config=self.settings" in text) is told
    assert ("self.settings = " in text) is ("settings" in helper)
