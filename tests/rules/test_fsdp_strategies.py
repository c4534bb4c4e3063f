"""RM705: strategies of FSDP1 in TrainingArguments."""

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
    "arguments",
    [
        'fsdp="full_shard auto_wrap"',
        'fsdp=["shard_grad_op", "offload"]',
        'fsdp="hybrid_shard", fsdp_config={"version": 1}',
        'fsdp="hybrid_shard", fsdp_config={"fsdp_version": 1}',
        'fsdp="hybrid_shard", fsdp_config="fsdp.json"',
        'fsdp=config["fsdp"]',
        "fsdp=True",
    ],
)
def test_what_fsdp2_has_is_not(arguments: str) -> None:
    assert not converted(SCRIPT.format(arguments=arguments)).lines("RM705", Kind.MANUAL)
