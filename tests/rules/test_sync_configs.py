"""RM402: what a SyncConfig that Tune goes on to take gets out of a dict."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from ray.air import RunConfig
from ray.tune import SyncConfig, Tuner
from job import load

KEYS = {keys}


def trial(config):
    print(config)


def run(more):
    return Tuner(trial, run_config=RunConfig(name="a", sync_config=SyncConfig({given}))).fit()
"""


@pytest.mark.parametrize(
    ("keys", "given", "line"),
    [
        ('{"upload_dir": "s3://a"}', "**KEYS", 5),
        ('dict(syncer="auto")', "**KEYS", 5),
        ("{}", "**{'upload_dir': more}", 13),
        ("{}", "**load()", 13),
        ("{}", "**more", 13),
        ("{}", "sync_period=1, **more", 13),
    ],
)
def test_what_it_refuses_out_of_a_dict_is_told(keys: str, given: str, line: int) -> None:
    outcome = converted(SCRIPT.format(keys=keys, given=given))
    assert outcome.lines("RM402", Kind.MANUAL) == [line]
    assert f"SyncConfig({given})" in outcome.text


@pytest.mark.parametrize(
    ("keys", "given"),
    [('{"sync_period": 10}', "**KEYS"), ("{}", "sync_period=10"), ("{}", "**{'sync_artifacts': more}")],
)
def test_what_it_takes_is_not(keys: str, given: str) -> None:
    assert not converted(SCRIPT.format(keys=keys, given=given)).lines("RM402", Kind.MANUAL)


def test_where_the_run_config_is_told_to_go_without_it_that_is_enough() -> None:
    script = SCRIPT.format(keys="{'upload_dir': 's3://a'}", given="**KEYS").replace("Tuner(trial", "TorchTrainer(trial")
    outcome = converted(script.replace("SyncConfig, Tuner", "SyncConfig\nfrom ray.train.torch import TorchTrainer"))
    assert outcome.lines("RM402", Kind.MANUAL) == [14]


@pytest.mark.parametrize("other", ["local_dir='x'", "storage_path=more"])
def test_a_path_on_the_same_line_that_is_told_too_hides_nothing(other: str) -> None:
    script = SCRIPT.format(keys="{}", given="**load()").replace('name="a"', other)
    messages = converted(script).messages
    assert [message for message in messages if message.startswith("What is passed with ** cannot be seen")]


def test_each_of_two_on_a_line_is_told() -> None:
    made = "a, b = SyncConfig(**{'upload_dir': 'x'}), SyncConfig(**{'syncer': 'x'})\n"
    script = SCRIPT.format(keys="{}", given="sync_period=1") + made
    assert converted(script).lines("RM402", Kind.MANUAL) == [14, 14]
