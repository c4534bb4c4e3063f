"""RM405: numbers of workers that a search draws, however they get to a ScalingConfig."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import convert, write
from tests.rules.scripts import converted

HEAD = """from functools import partial

from ray import tune
from ray.air.config import ScalingConfig
from job import loop, make, read

gpu = partial(ScalingConfig, use_gpu=True)


def scaling(count, **more):
    return ScalingConfig(num_workers=count, **more)


"""
TUNED = "tune.Tuner(make(), param_space={{'scaling_config': {config}}}).fit()\n"
DRAWN = "for what is still to be drawn"
COMMON = HEAD.partition("from job")[0].replace("from ray import tune\n", "") + HEAD.partition("read\n")[2]
SWEEP = (
    "from ray import tune\n\nimport common\nfrom common import gpu, scaling as make_scaling\nfrom job import make\n\n"
)


@pytest.mark.parametrize(
    "config",
    [
        "ScalingConfig(num_workers=tune.choice([1, 2]))",
        "ScalingConfig(None, tune.choice([1, 2]))",
        "gpu(num_workers=tune.grid_search([1, 2]))",
        "partial(ScalingConfig, num_workers=tune.randint(1, 3))()",
        "scaling(tune.choice([1, 2]))",
        "scaling(count=tune.choice([1, 2]), use_gpu=True)",
    ],
)
def test_what_a_search_draws_is_told(config: str) -> None:
    outcome = converted(HEAD + TUNED.format(config=config))
    assert sum(DRAWN in message for message in outcome.messages) == 1
    assert "a dict" in next(message for message in outcome.messages if DRAWN in message)


@pytest.mark.parametrize(
    "script",
    [
        "def driver(config):\n    make(ScalingConfig(num_workers=config['n'])).fit()\n\n\n"
        "tune.Tuner(driver, param_space={'n': tune.choice([1, 2])}).fit()\n",
        "def driver(config):\n    n = config['n']\n    make(scaling(n)).fit()\n\n\n"
        "tune.Tuner(driver, param_space={'n': tune.choice([1, 2])}).fit()\n",
        TUNED.format(config="read(num_workers=tune.choice([1, 2]))"),
        TUNED.format(config="partial(read, num_workers=tune.choice([1, 2]))()"),
        TUNED.format(config="{'num_workers': tune.choice([1, 2])}"),
        TUNED.format(config="scaling(2)"),
        TUNED.format(config="gpu(num_workers=read())"),
    ],
)
def test_what_is_drawn_before_it_gets_there_is_not(script: str) -> None:
    assert not any(DRAWN in message for message in converted(HEAD + script).messages)


@pytest.mark.parametrize(
    ("config", "is_told"),
    [
        ("common.gpu(num_workers=tune.choice([1, 2]))", True),
        ("gpu(num_workers=tune.choice([1, 2]))", True),
        ("common.scaling(tune.choice([1, 2]))", True),
        ("make_scaling(count=tune.choice([1, 2]))", True),
        ("common.scaling(3, use_gpu=tune.choice([True, False]))", False),
        ("make(count=tune.choice([1, 2]))", False),
    ],
)
def test_it_is_told_where_another_file_makes_the_config(tmp_path: Path, config: str, is_told: bool) -> None:
    write(tmp_path, {"common.py": COMMON, "sweep.py": SWEEP + TUNED.format(config=config)})
    found = [(f.message, f.kind, f.path) for result in convert(tmp_path).results for f in result.findings]
    told = [path for message, kind, path in found if DRAWN in message and kind is Kind.MANUAL]
    assert told == [str(tmp_path / "sweep.py")] * is_told
