"""Renamed arguments that functools.partial is given for a function, and members of enums that a string names."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """\
import functools
import ray
from functools import partial
from accelerate.utils import DistributedType
from huggingface_hub import hf_hub_download, snapshot_download
from transformers import AutoModel
"""


@pytest.mark.parametrize(
    "call",
    [
        "functools.partial(snapshot_download, {}=secret)",
        'partial(hf_hub_download, "a/b", "c", {}=secret)',
        "partial(AutoModel.from_pretrained, {}=secret)",
        "list(map(partial(AutoModel.from_pretrained, {}=True), names))",
    ],
)
def test_an_argument_of_partial_is_renamed_as_in_a_call(call: str) -> None:
    outcome = converted(f"{HEAD}x = {call.format('use_auth_token')}\n")
    assert outcome.text.endswith(f"x = {call.format('token')}\n")
    assert {kind for _, kind, _ in outcome.findings} == {Kind.CONVERTED}


@pytest.mark.parametrize("function", ["snapshot_download", "AutoModel.from_pretrained"])
def test_a_key_that_partial_unpacks_is_told(function: str) -> None:
    outcome = converted(f'{HEAD}x = partial({function}, **{{"use_auth_token": secret}})\n')
    assert outcome.lines("RM701", Kind.MANUAL) == [7]


@pytest.mark.parametrize(
    "call",
    [
        "partial(own, use_auth_token=secret)",
        "partial(*all_of_it, use_auth_token=secret)",
        "partial(snapshot_download, token=secret)",
        "own.partial(snapshot_download, use_auth_token=secret)",
        "partial(own.from_pretrained, use_auth_token=secret)",
    ],
)
def test_partial_of_others_is_left_alone(call: str) -> None:
    assert converted(f"{HEAD}x = {call}\n").findings == []


@pytest.mark.parametrize(
    "member",
    [
        "DistributedType.TPU",
        'DistributedType["TPU"]',
        'getattr(DistributedType, "TPU")',
        'DistributedType("TPU")',
        "DistributedType[NAME]",
    ],
)
def test_a_member_that_is_gone_is_told(member: str) -> None:
    outcome = converted(f'{HEAD}NAME = "TPU"\nx = state.distributed_type == {member}\n')
    assert outcome.lines("RM692", Kind.MANUAL) == [8]
    assert "DistributedType.XLA now" in outcome.messages[0]


@pytest.mark.parametrize(
    "member",
    ['DistributedType["XLA"]', "DistributedType[unknown]", 'own.DistributedType["TPU"]', 'kinds["TPU"]', 'Own("TPU")'],
)
def test_other_members_are_not_told(member: str) -> None:
    assert converted(f"{HEAD}x = {member}\n").findings == []
