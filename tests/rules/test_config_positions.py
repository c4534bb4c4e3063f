"""RM421: positional arguments of the configuration classes become keywords."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

IMPORTS = "from ray.air.config import RunConfig, ScalingConfig\n\n"


@pytest.mark.parametrize(
    ("given", "then"),
    [
        ('ScalingConfig({"CPU": 0}, 2)', "ScalingConfig(num_workers=2)"),
        ("ScalingConfig(...)", "ScalingConfig(...)"),
        ("ScalingConfig(..., 2)", "ScalingConfig(..., 2)"),
        ("RunConfig(...)", "RunConfig(...)"),
    ],
)
def test_a_sketch_with_dots_stays(given: str, then: str) -> None:
    outcome = converted(f"{IMPORTS}print({given})\n")
    assert outcome.text.endswith(f"print({then})\n")


TRAINERS = """from ray.air import CheckpointConfig, FailureConfig, RunConfig, ScalingConfig, SyncConfig
from ray.train.torch import TorchTrainer


def loop(config):
    pass


def build(a=None, b=None, c=None):
    config = {}
    return TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2), run_config=config)
"""


@pytest.mark.parametrize(
    ("given", "then"),
    [
        # A FailureConfig at the fifth place, a CheckpointConfig at the seventh: the order of Ray <= 2.6.
        (
            'RunConfig("n", "/x", None, None, FailureConfig(1), None, CheckpointConfig(num_to_keep=2))',
            'RunConfig(name="n", storage_path="/x", failure_config=FailureConfig(1),'
            " checkpoint_config=CheckpointConfig(num_to_keep=2))",
        ),
        # At the fourth: that of 2.7.
        (
            'RunConfig("n", "/x", None, FailureConfig(1), CheckpointConfig(num_to_keep=2), None)',
            'RunConfig(name="n", storage_path="/x", storage_filesystem=None, failure_config=FailureConfig(1),'
            " checkpoint_config=CheckpointConfig(num_to_keep=2))",
        ),
        # local_dir up to Ray 2.4, storage_path after that: both are storage_path today.
        ('RunConfig("n", "/x")', 'RunConfig("n", "/x")'),
        ('RunConfig("n", "x")', 'RunConfig(name="n", storage_path=os.path.abspath("x"))'),
        # It was local_dir where storage_path is given, too.
        ('RunConfig("n", "/y", storage_path="/x")', 'RunConfig(name="n", storage_path="/x")'),
    ],
)
def test_what_stands_at_a_place_tells_the_order(given: str, then: str) -> None:
    outcome = converted(TRAINERS.format(given))
    assert then in " ".join(outcome.text.split()).replace("( ", "(").replace(", )", ")"), outcome.text
    assert not outcome.lines("RM421", Kind.MANUAL)


@pytest.mark.parametrize(
    "given", ['RunConfig("n", "/x", a)', 'RunConfig("n", "/x", None, None, a, b, c)', "RunConfig(*a)"]
)
def test_an_order_that_is_not_known_is_told_in_each_run(given: str) -> None:
    outcome = converted(TRAINERS.format(given))
    assert given in outcome.text
    assert outcome.lines("RM421", Kind.MANUAL)


def test_a_relative_path_at_its_place_of_today_becomes_absolute() -> None:
    outcome = converted('from ray.train import RunConfig\n\nprint(RunConfig("n", "x"))\n')
    assert 'RunConfig(name="n", storage_path=os.path.abspath("x"))' in outcome.text


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ('"n", folder', True),
        ('"n", folder, None, FailureConfig(1)', True),
        ('"n", folder, files, FailureConfig(1)', False),  # is none of this machine
        ('"n", folder, storage_filesystem=files', False),
        ('"n", "/x"', False),
        ('"n", None', False),
    ],
)
def test_a_path_at_its_place_that_cannot_be_seen_is_told_as_one_by_name(given: str, told: bool) -> None:
    head = "from ray.air import FailureConfig, RunConfig\n\ndef f(folder, files):\n"
    outcome = converted(f"{head}    return RunConfig({given})\n")
    assert outcome.lines("RM402", Kind.MANUAL) == [4] * told and not outcome.lines("RM421", Kind.MANUAL)


def test_callbacks_are_no_file_system() -> None:
    outcome = converted('from ray.air import RunConfig\nfrom mine import One\n\nprint(RunConfig("n", "/x", [One()]))\n')
    assert 'RunConfig(name="n", storage_path="/x", callbacks=[One()])' in outcome.text


@pytest.mark.parametrize("given", ['"n", "/x"', '"n", "s3://x"', '"n", None', '"n", folder', '"n"'])
def test_a_path_that_is_taken_stays_where_it_is(given: str) -> None:
    script = f"from ray.train import RunConfig\n\ndef f(folder):\n    return RunConfig({given})\n"
    assert converted(script).text == script


@pytest.mark.parametrize(
    ("sixth", "now"),
    [("[Callback()]", ""), ("SyncConfig()", "sync_config"), ("given", "told")],
    ids=["the order of today", "that of Ray 2.7 to 2.50", "either"],
)
def test_of_imports_of_today_what_stands_there_tells_the_order_too(sixth: str, now: str) -> None:
    given = f'"n", None, None, FailureConfig(1), CheckpointConfig(), {sixth}'
    head = "from ray.train import CheckpointConfig, FailureConfig, RunConfig, SyncConfig\nfrom mine import Callback\n\n"
    outcome = converted(f"{head}\ndef f(given):\n    return RunConfig({given})\n")
    assert (f"RunConfig({given})" in outcome.text) is (now != "sync_config")
    assert bool(outcome.lines("RM421", Kind.MANUAL)) is (now == "told")
    assert bool(outcome.lines("RM421", Kind.CONVERTED)) is (now == "sync_config")
