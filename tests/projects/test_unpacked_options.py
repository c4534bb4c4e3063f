"""RM401: what callers in other files give for a `**` parameter that a configuration gets."""

from pathlib import Path

import pytest

from tests.projects.files import convert, write

CONFIGURED = """
from ray.air.config import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer


def build(workers, name="x", **options):
    {before}
    run_config = RunConfig(name=name, **options)
    return TorchTrainer(print, scaling_config=ScalingConfig(num_workers=workers), run_config=run_config)


class Job:
    def __init__(self, **options):
        self.config = RunConfig(**options)
"""
UNSEEN = "What is passed with ** cannot be seen here; RunConfig"


def told(folder: Path, main: str, before: str = "pass") -> list[str]:
    """What is said of the arguments of RunConfig in the file that has it."""
    write(folder, {"conf.py": CONFIGURED.format(before=before), "main.py": main})
    return [found.message for found in convert(folder).findings if found.code == "RM401"]


@pytest.mark.parametrize(
    "call",
    [
        "import conf\nconf.build(2, local_dir='/runs')\nconf.Job()",
        "from conf import *\nbuild(2, **{'local_dir': '/runs'})\nJob()",
        "from conf import build as made, Job\nJob(local_dir='/runs')\nmade(2)",
        "from conf import build, Job\ndef start(**more):\n    return build(2, **more)\nstart(local_dir='/runs')\nJob()",
    ],
    ids=["of a module", "in a dict", "for a class", "handed on"],
)
def test_what_other_files_give_is_told_where_it_is_unpacked(tmp_path: Path, call: str) -> None:
    (message,) = told(tmp_path, call)
    assert message.startswith("RunConfig(local_dir=), which line ")
    assert message.endswith("main.py writes, raises on Ray >= 2.51.")


def test_what_all_callers_give_may_be_right(tmp_path: Path) -> None:
    assert not told(tmp_path, "from conf import build, Job\nbuild(2, name='a')\nJob(storage_path='/runs')")


@pytest.mark.parametrize(
    ("call", "before"),
    [
        ("from conf import build, Job\nbuild(2)\nJob()", "fill(options)"),
        ("from conf import build, Job\nrun(build)\nJob()", "pass"),
        ("from conf import build, Job\nbuild(2, **settings)\nJob()", "pass"),
    ],
    ids=["filled", "called by others", "unpacked by a caller"],
)
def test_what_callers_do_not_show_is_told_as_before(tmp_path: Path, call: str, before: str) -> None:
    (message,) = told(tmp_path, call, before)
    assert message.startswith(UNSEEN)
