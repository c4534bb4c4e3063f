"""RM604, for folders: what goes up from result.path, which was the folder of a trial and is that of the run."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

FITTED = """
import os
import pathlib
from os.path import dirname, join
from pathlib import Path
from ray import tune
from ray.air.config import ScalingConfig
from ray.train.torch import TorchTrainer

result = TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2)).fit()
"""


def told(script: str) -> list[str]:
    """What RM604 says of folders."""
    return [message for message in converted(script).messages if message.startswith("result.path was")]


@pytest.mark.parametrize(
    ("read", "end"),
    [
        ("assert tmpdir / 'run' in Path(result.path).parents", "is not among those above it."),
        ("folder = Path(result.path).resolve()\nprint(folder.parents[0])", "is not among those above it."),
        ("folder = Path(result.path).parent", "one step above it is the folder of all runs."),
        ("print(pathlib.PurePath(str(result.path)).parent.name)", "one step above it is the folder of all runs."),
        ("folder = result.path\nprint(os.path.dirname(folder.rstrip('/')))", "is the folder of all runs."),
        ("print(dirname(os.path.abspath(result.path)))", "one step above it is the folder of all runs."),
        ("print(join(result.path, '..', 'logs'))", "one step above it is the folder of all runs."),
        ("print(Path(result.path) / '../logs')", "one step above it is the folder of all runs."),
        ("print(result.path + '/..')", "one step above it is the folder of all runs."),
        ("print(result.path.rsplit('/', 1)[0])", "one step above it is the folder of all runs."),
        ("print(result.path.rpartition('/')[0])", "one step above it is the folder of all runs."),
        ("print('/'.join(result.path.split('/')[:-1]))", "one step above it is the folder of all runs."),
        ("print(os.path.split(result.path)[0])", "one step above it is the folder of all runs."),
        ("folder, name = os.path.split(result.path)", "one step above it is the folder of all runs."),
    ],
)
def test_what_goes_up_from_the_folder_of_a_trial_is_told(read: str, end: str) -> None:
    (message,) = told(f"{FITTED}{read}\n")
    assert end in message
    assert message.endswith("where the folder of the run is meant, that is result.path.")


@pytest.mark.parametrize(
    "read",
    [
        "print(result.path, Path(result.path).name, os.path.basename(result.path), result.path.split('/')[-1])",
        "print(os.path.join(result.path, 'checkpoint'), Path(result.path) / 'checkpoint')",
        "print(os.path.split(result.path)[1], Path('a').parent, loop.path.parent)",
        "one = tune.Tuner(loop).fit()[0]\nprint(Path(one.path).parent)",
        "loop.folder = names['folder'] = result.path\nprint(loop.folder)",
    ],
)
def test_what_stays_in_it_or_is_another_folder_is_not_told(read: str) -> None:
    assert not told(f"{FITTED}{read}\n")


def test_a_script_for_current_ray_is_left_alone() -> None:
    script = FITTED.replace("ray.air.config", "ray.train") + "print(Path(result.path).parent)\n"
    assert not told(script)
    assert not converted(script).lines("RM604", Kind.MANUAL)
