"""RM705: FSDP2 takes the place of FSDP1 in TrainingArguments."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from ray.air import session
from transformers import TrainingArguments


def loop(config):
    sharding = "hybrid_shard"
    args = TrainingArguments("out", {arguments})
    session.report({{"loss": 1.0}})
"""


@pytest.mark.parametrize(
    "arguments",
    [
        'fsdp="hybrid_shard auto_wrap"',
        'fsdp=["no_shard", "offload"]',
        "fsdp=sharding",
        "fsdp=[sharding], fsdp_config=None",
        'fsdp="hybrid_shard_zero2", fsdp_config={"min_num_params": 100}',
    ],
)
def test_what_only_fsdp1_has_is_told(arguments: str) -> None:
    outcome = converted(SCRIPT.format(arguments=arguments))
    assert outcome.lines("RM705", Kind.MANUAL) == [7]
    assert any("raises a ValueError today: FSDP2" in message for message in outcome.messages)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ('fsdp="full_shard auto_wrap"', "to the last digit. "),
        ('fsdp=["shard_grad_op", "offload"]', "to the last digit. "),
        ('fsdp="full_shard", fsdp_config={"min_num_params": 100}', "to the last digit. "),
        ('fsdp="hybrid_shard", fsdp_config="fsdp.json"', 'unless its configuration has "version": 1. '),
        ('fsdp="full_shard", fsdp_config=config["fsdp"]', 'unless its configuration has "version": 1. '),
        ('fsdp=config["fsdp"]', "to the last digit. "),
        ("fsdp=True", "to the last digit. "),
    ],
)
def test_another_version_is_told(arguments: str, told: str) -> None:
    outcome = converted(SCRIPT.format(arguments=arguments))
    assert outcome.lines("RM705", Kind.MANUAL) == [7]
    assert any("means FSDP2 since transformers 5" in message and told in message for message in outcome.messages)


@pytest.mark.parametrize(
    "arguments",
    [
        'fsdp="hybrid_shard", fsdp_config={"version": 1}',
        'fsdp="full_shard", fsdp_config={"fsdp_version": 1}',
        'fsdp=""',
        "fsdp=[]",
        "fsdp=None",
        "fsdp=False",
        "weight_decay=0.1",
    ],
)
def test_what_is_as_before_is_not(arguments: str) -> None:
    assert not converted(SCRIPT.format(arguments=arguments)).lines("RM705", Kind.MANUAL)


def test_a_script_of_current_ray_may_mean_fsdp2() -> None:
    script = SCRIPT.replace("from ray.air import session", "from ray import train as session")
    assert not converted(script.format(arguments='fsdp="full_shard"')).lines("RM705", Kind.MANUAL)
