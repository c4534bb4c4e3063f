"""RM405 for a Tuner over a trainer that is fitted as well, and whose RunConfig both go by."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import sys
from ray import air, tune
from ray.train.torch import TorchTrainer

def loop(config):
    print(config)

{before}
trainer = TorchTrainer(loop, scaling_config=air.ScalingConfig(num_workers=2), run_config={config})
trainer.fit()
tune.Tuner(trainer, param_space={{"train_loop_config": {{"lr": 1}}}}).fit()
"""


@pytest.mark.parametrize(
    ("before", "config", "name", "of_trial", "of_tune"),
    [
        ("", "air.RunConfig('a')", "run_config", ["name"], ["name"]),
        ("", "air.RunConfig(name=sys.argv[1])", "run_config", ["name"], ["name"]),
        ("", "air.RunConfig(local_dir='a')", "run_config", ["storage_path"], ["storage_path"]),
        ("", "air.RunConfig(checkpoint_config=sys.argv)", "run_config", ["checkpoint_config"], []),
        ("", "air.RunConfig(failure_config=air.FailureConfig(3))", "run_config", ["failure_config"], []),
        (
            "RUN = air.RunConfig('a', storage_path='/a')",
            "RUN",
            "RUN",
            ["name", "storage_path"],
            ["name", "storage_path"],
        ),
    ],
)
def test_the_second_trainer_and_the_tuner_take_what_is_theirs(
    before: str, config: str, name: str, of_trial: list[str], of_tune: list[str]
) -> None:
    outcome = converted(SCRIPT.format(before=before, config=config))
    assert outcome.lines("RM405", Kind.CONVERTED) and f"run_config={name}" in outcome.text
    driver = outcome.text[outcome.text.index("def train_driver") : outcome.text.index("tune.Tuner(")]
    tuner = outcome.text[outcome.text.index("tune.Tuner(") :]
    for argument in ("name", "storage_path", "checkpoint_config", "failure_config"):
        assert (f"{name}.{argument}" in driver) == (argument in of_trial)
        assert (f"{argument}={name}.{argument}" in tuner) == (argument in of_tune)


@pytest.mark.parametrize(
    ("given", "of_tune"),
    [
        ("verbose=2", "verbose=2"),
        ("verbose=2, log_to_file=True", "log_to_file=True, verbose=2"),
        ("progress_reporter=tune.CLIReporter()", "progress_reporter=tune.CLIReporter()"),
        (
            "failure_config=air.FailureConfig(fail_fast=sys.argv)",
            "failure_config=tune.FailureConfig(fail_fast=sys.argv)",
        ),
    ],
)
def test_what_only_tune_takes_goes_to_the_tuner(given: str, of_tune: str) -> None:
    text = converted(SCRIPT.format(before="", config=f"air.RunConfig({given})")).text
    assert f"run_config=tune.RunConfig({of_tune})" in text
    assert text.count(of_tune) == 1


@pytest.mark.parametrize("value", ["level", "len(sys.argv)", "input()"])
def test_what_may_be_another_value_later_is_computed_where_it_was(value: str) -> None:
    """Only the Tuner takes it, which is made after fit(): `level` is another one by then."""
    script = SCRIPT.format(before="level = 2", config=f"air.RunConfig(verbose={value})")
    text = converted(script.replace("trainer.fit()\n", "trainer.fit()\nlevel = 3\n")).text
    assert text.index(f"verbose = {value}\n") < text.index("trainer = TorchTrainer")
    assert "run_config=tune.RunConfig(verbose=verbose)" in text


def test_an_upload_dir_is_where_all_three_go() -> None:
    run = "air.RunConfig('a', sync_config=tune.SyncConfig(upload_dir='s3://b'))"
    text = converted(SCRIPT.format(before=f"RUN = {run}", config="RUN")).text.replace('"', "'")
    assert "RUN = ray.train.RunConfig('a', storage_path='s3://b')" in text
    assert text.count("storage_path=RUN.storage_path") == 2


def test_a_sync_config_that_asks_for_nothing_goes() -> None:
    run = "air.RunConfig('a', sync_config=tune.SyncConfig(syncer=None))"
    text = converted(SCRIPT.format(before=f"RUN = {run}", config="RUN")).text
    assert "run_config=tune.RunConfig(name=RUN.name)" in text and "sync_config" not in text


def test_a_run_config_with_nothing_to_share_gets_no_name() -> None:
    assert "run_config = " not in converted(SCRIPT.format(before="", config="air.RunConfig(verbose=2)")).text


@pytest.mark.parametrize(
    ("before", "config", "reason"),
    [
        ("", "air.RunConfig(stop={'a': 1})", "which has stop="),
        ("", "air.RunConfig(callbacks=sys.argv)", "which has callbacks="),
        ("", "air.RunConfig(sync_config=sys.argv)", "which has sync_config="),
        ("", "air.RunConfig(failure_config=sys.argv)", "whose FailureConfig cannot be seen"),
        ("", "air.RunConfig(**vars(sys))", "and so is its RunConfig"),
        ("", "sys.argv", "and so is its RunConfig"),
        ("c = air.RunConfig('a')\nprint(c)", "c", "and so is its RunConfig"),
    ],
)
def test_what_both_cannot_go_by_is_said(before: str, config: str, reason: str) -> None:
    outcome = converted(SCRIPT.format(before=before, config=config))
    assert any("not converted" in message and reason in message for message in outcome.messages)
    assert "train_driver" not in outcome.text
