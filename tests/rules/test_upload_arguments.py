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
    ("key", "code"),
    [("organization", "RM702"), ("repo_url", "RM702"), ("use_temp_dir", "RM702"), ("use_auth_token", "RM701")],
)
def test_what_is_refused_is_seen_in_a_dict(key: str, code: str) -> None:
    outcome = converted(f"{HEAD}more = {{'private': True, {key!r}: name}}\nm.push_to_hub('x', **more)\n")
    assert outcome.findings == [(code, Kind.MANUAL, 6)]
    assert outcome.messages[0].startswith(f"{key}= raises a TypeError today where ")


@pytest.mark.parametrize(
    "call",
    [
        'create_repo("x", organization="y")',
        'create_repo(name="x")',
        'huggingface_hub.create_repo("x", organization="y", exist_ok=True)',
        'HfApi().create_repo("x", organization="y")',
    ],
)
def test_a_repository_is_made_by_its_whole_name(call: str) -> None:
    names = "import huggingface_hub\nfrom huggingface_hub import HfApi, create_repo\n"
    outcome = converted(f"{HEAD}{names}{call}\n")
    assert [code for code, _, _ in outcome.findings] == ["RM693"]
    assert 'repo_id="organization/name", whole' in outcome.messages[0]
    assert not converted(f"{HEAD}{names}create_repo('y/x', token=name, private=True, exist_ok=True)\n").findings


@pytest.mark.parametrize(
    "use",
    [
        'm.push_to_hub("y/x", private=True)',
        'more = {"organization": 1}\nname.push(**more)',
        "class Mine:\n    def push_to_hub(self, organization):\n        pass\n\n\nMine().push_to_hub(organization=1)",
        'name.create(organization="y")',
        'push_to_hub = print\npush_to_hub("x", organization="y")',
    ],
)
def test_others_are_left_alone(use: str) -> None:
    assert not converted(HEAD + use).findings


@pytest.mark.parametrize(
    "call", ["m.push_to_hub('x', check_pr=True)", "m.push_to_hub('x', **{})\nm.push_to_hub('x', x=1)"]
)
def test_another_keyword_that_it_does_not_take_is_told(call: str) -> None:
    outcome = converted(HEAD + call)
    assert [kind for code, kind, _ in outcome.findings if code == "RM702"] == [Kind.MANUAL]
    assert any("raises a TypeError today" in message for message in outcome.messages)


@pytest.mark.parametrize(
    "call",
    [
        "m.push_to_hub('x', create_pr=True, private=True, tags=['a'], max_shard_size='1GB')",
        "tok.push_to_hub('x', check_pr=True)",  # of an object that is not seen
        "from datasets import load_dataset\nload_dataset('x').push_to_hub('x', split='train')",
        "from transformers import Trainer\nTrainer(m).push_to_hub(language='en')",
    ],
)
def test_what_is_taken_or_of_another_class_is_not(call: str) -> None:
    assert not [code for code, _, _ in converted(HEAD + call).findings if code == "RM702"]
