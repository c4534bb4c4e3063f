"""A configuration of which nothing is left goes with its last argument."""

import pytest

from tests.rules.scripts import converted

SCRIPT = """
import ray
from ray import air, tune
from ray.air import CheckpointConfig, FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer

{before}
TorchTrainer(print, scaling_config=ScalingConfig(num_workers=2), run_config={given}).fit()
"""


@pytest.mark.parametrize(
    ("before", "given"),
    [
        ("", "RunConfig(verbose=1)"),
        ("", "air.RunConfig(verbose=1, log_to_file=True)"),
        ("", "RunConfig(sync_config=tune.SyncConfig(syncer=None))"),
        ("", "RunConfig(checkpoint_config=CheckpointConfig(checkpoint_at_end=True))"),
        ("", "RunConfig(verbose=0, failure_config=FailureConfig(fail_fast=False))"),
        ("run_config = RunConfig(verbose=1)", "run_config"),
        (
            "keep = CheckpointConfig(checkpoint_frequency=1)\nrun_config = RunConfig(checkpoint_config=keep)",
            "run_config",
        ),
    ],
)
def test_nothing_is_left_of_it(before: str, given: str) -> None:
    outcome = converted(SCRIPT.format(before=before, given=given))
    assert "TorchTrainer(print, scaling_config=ScalingConfig(num_workers=2)).fit()" in outcome.text
    assert "run_config" not in outcome.text and "keep" not in outcome.text


@pytest.mark.parametrize(
    ("before", "given", "kept"),
    [
        ("", "RunConfig()", "run_config=RunConfig()"),
        ("", 'RunConfig("name", verbose=1)', 'RunConfig("name")'),
        ("", "RunConfig(verbose=1, **ray.options())", "RunConfig(**ray.options())"),
        ("run_config = RunConfig(verbose=1)\nprint(run_config)", "run_config", "run_config = RunConfig()"),
        ("", "RunConfig(checkpoint_config=CheckpointConfig())", "RunConfig(checkpoint_config=CheckpointConfig())"),
    ],
)
def test_what_is_not_emptied_stays(before: str, given: str, kept: str) -> None:
    assert kept in converted(SCRIPT.format(before=before, given=given)).text
