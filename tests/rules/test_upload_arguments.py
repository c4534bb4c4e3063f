"""RM701 and RM702: arguments of push_to_hub that are gone."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import ray
from given import name, tok
from transformers import AutoModel

m = AutoModel.from_pretrained("x", dtype="auto")
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('m.push_to_hub(repo_path_or_name="x", organization="y", use_temp_dir=True)', 'm.push_to_hub(repo_id="y/x")'),
        ('m.push_to_hub("x", organization="y")', 'm.push_to_hub("y/x")'),
        ('m.push_to_hub("out/x", organization="y", private=True)', 'm.push_to_hub("y/x", private=True)'),
        ('m.push_to_hub("y/x", organization="y")', 'm.push_to_hub("y/x")'),
        ('m.push_to_hub(repo_id="x", organization="y")', 'm.push_to_hub(repo_id="y/x")'),
        ('tok.push_to_hub(repo_path_or_name="x")', 'tok.push_to_hub(repo_id="x")'),
        ("tok.push_to_hub(name, use_temp_dir=True)", "tok.push_to_hub(name)"),
    ],
)
def test_the_repository_is_named_whole(old: str, new: str) -> None:
    outcome = converted(HEAD + old)
    assert new in outcome.text
    assert {kind for _, kind, _ in outcome.findings} == {Kind.CONVERTED}


@pytest.mark.parametrize(
    "call",
    [
        "m.push_to_hub(repo_path_or_name=name)",
        'm.push_to_hub(repo_path_or_name="out/x")',
        'm.push_to_hub(name, organization="y")',
        'm.push_to_hub("x", organization=name)',
        'm.push_to_hub(repo_url="https://huggingface.co/y/x")',
    ],
)
def test_what_is_not_seen_is_told(call: str) -> None:
    outcome = converted(HEAD + call)
    assert [kind for code, kind, _ in outcome.findings if code in ("RM701", "RM702")] == [Kind.MANUAL]


@pytest.mark.parametrize(
    "use",
    [
        'm.push_to_hub("y/x", private=True)',
        "class Mine:\n    def push_to_hub(self, organization):\n        pass\n\n\nMine().push_to_hub(organization=1)",
        'name.create(organization="y")',
        'push_to_hub = print\npush_to_hub("x", organization="y")',
    ],
)
def test_others_are_left_alone(use: str) -> None:
    assert not converted(HEAD + use).findings
