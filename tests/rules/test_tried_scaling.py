"""RM405: what is read of the scaling configuration that a result of a Tuner holds."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import convert
from tests.rules.scripts import Outcome, converted

SCRIPT = """
from ray import tune
from ray.air.config import ScalingConfig
from ray.train.torch import TorchTrainer
from ray.tune import Tuner


def loop(config):
    pass


trainer = TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2))
tuner = Tuner(trainer, param_space={{"{key}": {space}}})
results = tuner.fit()
best = results.get_best_result("loss", "min")
{use}
"""
DRAWN = "ScalingConfig(num_workers=tune.grid_search([1, 2]))"
SCALING = "scaling_config"


def using(use: str, key: str = SCALING, space: str = DRAWN) -> Outcome:
    return converted(SCRIPT.format(use=use, key=key, space=space))


@pytest.mark.parametrize(
    ("use", "now"),
    [
        ('print(best.config["scaling_config"].num_workers)', 'print(best.config["scaling_config"]["num_workers"])'),
        (
            'for one in results:\n    print(one.config["scaling_config"].num_workers)',
            'print(one.config["scaling_config"]["num_workers"])',
        ),
        ('given = best.config["scaling_config"]\nprint(given.num_workers)', 'print(given["num_workers"])'),
        (
            'tried = best.config\nprint(tried["scaling_config"].num_workers)',
            'print(tried["scaling_config"]["num_workers"])',
        ),
        ('print(best.config.get("scaling_config").num_workers)', '.get("scaling_config")["num_workers"])'),
    ],
)
def test_what_the_search_space_gives_is_an_entry(use: str, now: str) -> None:
    outcome = using(use)
    assert now in outcome.text
    assert len(outcome.lines("RM405", Kind.CONVERTED)) == 2


@pytest.mark.parametrize(
    ("use", "said"),
    [
        ('print(best.config["scaling_config"].use_gpu)', "reading use_gpu of it raises an AttributeError"),
        ('TorchTrainer(loop, scaling_config=best.config["scaling_config"])', "a trainer takes no dict here"),
        (
            'given = best.config["scaling_config"]\nTorchTrainer(loop, scaling_config=given)',
            "a trainer takes no dict here",
        ),
        (
            "one = Tuner(loop).fit().get_best_result() if input() else best\n"
            'print(one.config["scaling_config"].num_workers)',
            "is a dict now where the result is of a Tuner that is converted here",
        ),
        (
            "one = Tuner(loop).fit().get_best_result() if input() else best\n"
            'TorchTrainer(loop, scaling_config=one.config["scaling_config"])',
            "where the result is of a Tuner that is converted here: a trainer takes no dict here",
        ),
    ],
)
def test_what_is_no_entry_is_told(use: str, said: str) -> None:
    outcome = using(use)
    assert use in outcome.text
    assert any(said in message for message in outcome.messages)


@pytest.mark.parametrize(
    ("use", "key", "space"),
    [
        ('print(best.config["scaling_config"])', SCALING, DRAWN),
        ('print(best.config["scaling_config"].num_workers)', "train_loop_config", '{"lr": tune.grid_search([1, 2])}'),
        ('print(other.config["scaling_config"].num_workers)', SCALING, DRAWN),
        ('print(other["scaling_config"].num_workers)', SCALING, DRAWN),
        (
            'one = Tuner(loop).fit().get_best_result()\nprint(one.config["scaling_config"].num_workers)',
            SCALING,
            DRAWN,
        ),
    ],
)
def test_other_values_stay(use: str, key: str, space: str) -> None:
    outcome = using(f"from mine import other\n{use}", key, space)
    assert use in outcome.text
    assert not any("is a dict now" in message for message in outcome.messages)


@pytest.mark.parametrize(("other", "kind"), [("import train\n\ntrain.show(1)\n", Kind.MANUAL), ("", Kind.CONVERTED)])
def test_a_function_that_another_file_calls_is_left(tmp_path: Path, other: str, kind: Kind) -> None:
    use = 'def show(one):\n    print(one.config["scaling_config"].num_workers)\n\n\nshow(best)'
    (tmp_path / "train.py").write_text(SCRIPT.format(use=use, key=SCALING, space=DRAWN))
    (tmp_path / "other.py").write_text(other)
    found = [
        finding for finding in convert(tmp_path).findings if finding.message.startswith('config["scaling_config"]')
    ]
    assert [finding.kind for finding in found] == [kind]
