"""RM766: accelerate's settings for its launcher, made in code."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
from dataclasses import asdict, fields

import accelerate.commands.config.default
import ray
import yaml
from accelerate.commands.config import config_args
from accelerate.commands.config.config_args import ClusterConfig, SageMakerConfig
from mine import ClusterConfig as Own, chosen

base = dict(compute_environment="LOCAL_MACHINE", distributed_type="NO", mixed_precision="no", use_cpu=False)
told = {**base, "debug": True}
"""
POSITIONS = '"LOCAL_MACHINE", "NO", "no", False'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"ClusterConfig({POSITIONS})", f"ClusterConfig({POSITIONS}, debug=False)"),
        (f"ClusterConfig({POSITIONS}, num_processes=2)", f"ClusterConfig({POSITIONS}, num_processes=2, debug=False)"),
        ("ClusterConfig(use_cpu=True).to_yaml_file()", "ClusterConfig(use_cpu=True, debug=False).to_yaml_file()"),
        ("config_args.ClusterConfig(use_cpu=True)", "config_args.ClusterConfig(use_cpu=True, debug=False)"),
        (
            "accelerate.commands.config.default.ClusterConfig(use_cpu=True)",
            "accelerate.commands.config.default.ClusterConfig(use_cpu=True, debug=False)",
        ),
        ("SageMakerConfig(iam_role_name='a')", "SageMakerConfig(iam_role_name='a', debug=False)"),
        ("ClusterConfig(**chosen)", 'ClusterConfig(**{"debug": False, **chosen})'),
        (
            "ClusterConfig(num_processes=2, **yaml.safe_load(chosen))",
            'ClusterConfig(num_processes=2, **{"debug": False, **yaml.safe_load(chosen)})',
        ),
        ("ClusterConfig(**base)", "ClusterConfig(debug=False, **base)"),
    ],
)
def test_what_the_settings_ask_for_is_given(before: str, after: str) -> None:
    outcome = converted(f"{HEAD}config = {before}")
    assert outcome.text.endswith(f"config = {after}") and len(outcome.lines("RM766", Kind.CONVERTED)) == 1
    assert not [code for code, _, _ in converted(outcome.text).findings if code == "RM766"]


@pytest.mark.parametrize(
    "call",
    [
        f"ClusterConfig({POSITIONS}, 2)",
        f"ClusterConfig({POSITIONS}, 2, machine_rank=0)",
    ],
)
def test_numbers_that_it_takes_for_debug_are_told(call: str) -> None:
    outcome = converted(f"{HEAD}config = {call}")
    assert outcome.text.endswith(call) and len(outcome.lines("RM766", Kind.MANUAL)) == 1


@pytest.mark.parametrize(
    "use",
    [
        "ClusterConfig(use_cpu=True, debug=True)",
        f"ClusterConfig({POSITIONS}, False)",
        f"ClusterConfig({POSITIONS}, chosen.debug)",
        "ClusterConfig(*chosen)",
        "ClusterConfig(**told)",
        "ClusterConfig(**base, **{'debug': False})",
        "ClusterConfig.from_yaml_file(chosen)",
        "Own(use_cpu=True)",
        "chosen.ClusterConfig(use_cpu=True)",
        "try:\n    ClusterConfig(use_cpu=True)\nexcept TypeError:\n    pass",
        "if 'debug' in [field.name for field in fields(Own)]:\n    base['debug'] = False\nClusterConfig(**base)",
    ],
)
def test_settings_that_have_it_stay(use: str) -> None:
    outcome = converted(HEAD + use)
    assert outcome.text.endswith(use) and not [code for code, _, _ in outcome.findings if code == "RM766"]


def test_a_script_without_ray_may_use_an_older_accelerate() -> None:
    assert not converted(HEAD.replace("import ray\n", "") + "ClusterConfig(use_cpu=True)").findings


@pytest.mark.parametrize("call", ["ClusterConfig(use_cpu=True)", f"ClusterConfig({POSITIONS}, 2)"])
def test_a_script_that_only_writes_them_is_told_with_to_ray(call: str) -> None:
    script = f"{HEAD}config = {call}".replace("import ray\n", "")
    outcome = converted(script, to_ray=True)
    assert outcome.text.endswith(call)
    assert outcome.lines("RM766", Kind.NOTE) == [len(script.strip().split("\n"))]


def test_settings_of_others_are_not_told_with_to_ray() -> None:
    script = HEAD.replace("import ray\n", "")
    for use in ("Own(use_cpu=True)", "ClusterConfig(use_cpu=True, debug=True)", "ClusterConfig.from_yaml_file(chosen)"):
        assert not converted(script + use, to_ray=True).findings
