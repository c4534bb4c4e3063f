"""RM405: numbers and resources of workers that a search draws, however they get to a ScalingConfig."""

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


def asking(each=None):
    return ScalingConfig(num_workers=2, resources_per_worker=each)


def named(*, count):
    return ScalingConfig(num_workers=count)


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
        "ScalingConfig(num_workers=2, resources_per_worker=tune.choice([{'CPU': 1}, {'CPU': 2}]))",
        "ScalingConfig(None, 2, False, tune.choice([{'CPU': 1}, {'CPU': 2}]))",
        "ScalingConfig(num_workers=2, resources_per_worker=tune.sample_from(read))",
        "gpu(resources_per_worker=tune.choice([{'GPU': 1}, {'GPU': 2}]))",
        "partial(ScalingConfig, resources_per_worker=tune.choice([{'CPU': 1}]))()",
        "asking(tune.choice([{'CPU': 1}]))",
        "asking(each=tune.choice([{'CPU': 1}]))",
    ],
)
def test_what_a_search_draws_is_told(config: str) -> None:
    outcome = converted(HEAD + TUNED.format(config=config))
    assert sum(DRAWN in message for message in outcome.messages) == 1
    assert "a dict" in next(message for message in outcome.messages if DRAWN in message)


def test_the_error_of_each_is_named() -> None:
    script = "ScalingConfig(num_workers=tune.choice([1]), resources_per_worker=tune.choice([{'CPU': 1}]))"
    told = {message.partition(" on Ray")[0] for message in converted(HEAD + script).messages if DRAWN in message}
    assert told == {
        "ScalingConfig(num_workers=) raises a ValueError",
        "ScalingConfig(resources_per_worker=) raises an AttributeError",
    }


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
        TUNED.format(config="gpu(resources_per_worker={'CPU': tune.choice([1, 2])})"),
        TUNED.format(config="gpu(resources_per_worker=tune.grid_search([{'CPU': 1}, {'CPU': 2}]))"),
        TUNED.format(config="ScalingConfig(num_workers=2, resources_per_worker=tune.grid_search([{'CPU': 1}]))"),
        TUNED.format(config="ScalingConfig(num_workers=2, use_gpu=tune.choice([True, False]))"),
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
        ("common.named(count=tune.choice([1, 2]))", True),
        ("common.asking(tune.choice([{'CPU': 1}]))", True),
        ("common.asking(each=tune.choice([{'CPU': 1}]))", True),
        ("common.gpu(resources_per_worker=tune.choice([{'CPU': 1}]))", True),
        ("common.asking(tune.grid_search([{'CPU': 1}]))", False),
        ("common.scaling(3, use_gpu=tune.choice([True, False]))", False),
        ("make(count=tune.choice([1, 2]))", False),
    ],
)
def test_it_is_told_where_another_file_makes_the_config(tmp_path: Path, config: str, is_told: bool) -> None:
    write(tmp_path, {"common.py": COMMON, "sweep.py": SWEEP + TUNED.format(config=config)})
    found = [(f.message, f.kind, f.path) for result in convert(tmp_path).results for f in result.findings]
    told = [path for message, kind, path in found if DRAWN in message and kind is Kind.MANUAL]
    assert told == [str(tmp_path / "sweep.py")] * is_told
