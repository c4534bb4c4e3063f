"""RM604 and RM605 of a result that is read from the folder of a run: `Result.from_path(path)`."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome, converted

SCRIPT = """
import ray.air
from ray import train, tune
from ray.train import Result, ScalingConfig
from ray.train.torch import TorchTrainer

def loop(config):
    train.report({{"loss": 1.0}})

trainer = TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2))
result = trainer.fit()
best = tune.Tuner(objective).fit().get_best_result("loss", "min")
{read}
"""
OLD = "reads only the folders of runs"


def of(read: str) -> Outcome:
    return converted(SCRIPT.format(read=read))


@pytest.mark.parametrize("path", ["'/mnt/runs/a'", "result.path", "str(result.path) + '/'", "sys.argv[1]"])
@pytest.mark.parametrize(
    "by", ["Result", "train.Result", "ray.train.Result", "ray.air.Result", "ray.air.result.Result"]
)
@pytest.mark.parametrize(
    ("what", "told"),
    [
        ('metrics["training_iteration"]', 'no "training_iteration"'),
        ('metrics.get("time_total_s")', 'no "time_total_s"'),
        ("config", "result.config raises"),
        ("dataset_stats", "result.dataset_stats raises"),
        ("log_dir", "result.log_dir raises an AttributeError"),
        ("metrics_dataframe", "result.metrics_dataframe "),
    ],
)
def test_what_it_does_not_have_is_told(path: str, by: str, what: str, told: str) -> None:
    outcome = of(f"again = {by}.from_path({path})\nprint(again.{what})")
    [message] = [message for message in outcome.messages if told in message]
    if what == "metrics_dataframe":  # the run of this script reports no checkpoint; that of another one may
        assert ("is None" if "result.path" in path else "has a row for each") in message
    assert "now result.path" in message if "result.path" in path and what == "log_dir" else "now" not in message


def test_that_of_the_run_that_was_just_made_has_the_metrics_of_its_reports() -> None:
    read = 'print(Result.from_path({}).metrics["loss"])'
    assert of(read.format("result.path")).lines("RM605", Kind.MANUAL) == [12]
    assert not of(read.format("'/mnt/runs/a'")).lines("RM605", Kind.MANUAL)


@pytest.mark.parametrize(("path", "told"), [("result.path", False), ("best.path", True), ("'/mnt/runs/a'", True)])
def test_only_a_run_that_may_be_an_older_one_or_a_trial_is_refused(path: str, told: bool) -> None:
    outcome = of(f"print(Result.from_path({path}).checkpoint)")
    assert any(OLD in message for message in outcome.messages) is told


@pytest.mark.parametrize(
    "read",
    [
        'print(tune.Result.from_path("/mnt/a").metrics["training_iteration"])',
        'print(Result.from_path(best.path).metrics["training_iteration"])',
        'print(own.Result.from_path("/mnt/a").metrics["training_iteration"])',
        'print(Result.from_path("/mnt/a").metrics["loss"])',
        'print(Result.from_path("/mnt/a").path)',
    ],
)
def test_others_stay(read: str) -> None:
    assert not [message for message in of(read).messages if " no " in message and "RM604" in message]
    assert [line for line in of(read).lines("RM604", Kind.MANUAL) if line == 12] in ([], [12])
    assert not any("on Ray >= 2.51: this" in message for message in of(read).messages)
