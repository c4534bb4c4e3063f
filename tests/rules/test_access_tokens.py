"""RM701: `use_auth_token=`, which is token= today."""

import re

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from ray.air import session
{imports}


def loop(config):
    {statement}
    session.report({{"loss": 1.0}})
"""


@pytest.mark.parametrize(
    ("imports", "statement"),
    [
        ("", "config['model'].push_to_hub('a/b', use_auth_token=True)"),
        ("", "type(config['model']).from_pretrained('a/b', use_auth_token=config['token'])"),
        ("from transformers import pipeline", "pipeline('text-generation', use_auth_token='t')"),
        ("import datasets", "datasets.get_dataset_config_names('a/b', use_auth_token=True)"),
    ],
)
def test_the_argument_has_its_new_name(imports: str, statement: str) -> None:
    outcome = converted(SCRIPT.format(imports=imports, statement=statement))
    assert len(outcome.lines("RM701", Kind.CONVERTED)) == 1
    assert statement.replace("use_auth_token", "token") in outcome.text


def test_a_token_that_is_given_already_stays() -> None:
    outcome = converted(
        SCRIPT.format(imports="", statement="config['m'].push_to_hub('a', token='t', use_auth_token=1)")
    )
    assert "push_to_hub('a', token='t')" in outcome.text


@pytest.mark.parametrize("statement", ["download('a/b', use_auth_token=True)", "config['x'].get(use_auth_token=True)"])
def test_a_function_of_the_users_own_keeps_it(statement: str) -> None:
    assert statement in converted(SCRIPT.format(imports="def download(*a, **k): pass", statement=statement)).text


@pytest.mark.parametrize(
    ("imports", "statement"),
    [
        ("from huggingface_hub import snapshot_download", "snapshot_download('a/b', use_auth_token=True)"),
        ("from huggingface_hub import snapshot_download as get", "get('a/b', use_auth_token=config['token'])"),
        ("import huggingface_hub as hub", "hub.hf_hub_download('a/b', 'c', use_auth_token='t')"),
        ("from huggingface_hub.file_download import hf_hub_download", "hf_hub_download('a', 'c', use_auth_token=1)"),
        ("from huggingface_hub import HfApi", "HfApi().list_models(use_auth_token=True)"),
        ("from huggingface_hub import HfApi\n\napi = HfApi()", "api.dataset_info('a/b', use_auth_token=True)"),
    ],
)
def test_functions_of_the_hub_get_its_new_name(imports: str, statement: str) -> None:
    outcome = converted(SCRIPT.format(imports=imports, statement=statement))
    assert outcome.lines("RM693", Kind.CONVERTED)
    assert re.sub(r"use_auth_token", "token", statement).partition("(")[2] in outcome.text


@pytest.mark.parametrize(
    "statement",
    [
        "snapshot_download('a/b', **{'use_auth_token': True})",
        "given = {'use_auth_token': True}; snapshot_download('a/b', **given)",
        "given = dict(revision='main'); given['use_auth_token'] = 1; snapshot_download('a/b', **given)",
    ],
)
def test_a_key_of_a_dict_that_the_hub_gets_is_told(statement: str) -> None:
    outcome = converted(SCRIPT.format(imports="from huggingface_hub import snapshot_download", statement=statement))
    assert len(outcome.lines("RM701", Kind.MANUAL)) == 1
    assert "token= took its place" in "".join(outcome.messages)


@pytest.mark.parametrize("argument", ["resume_download=True", "force_filename='x'", "**{'token': True}", "**config"])
def test_what_the_hub_still_takes_is_no_news(argument: str) -> None:
    imports = "from huggingface_hub import hf_hub_download"
    outcome = converted(SCRIPT.format(imports=imports, statement=f"hf_hub_download('a/b', 'c', {argument})"))
    assert {code for code, kind, _ in outcome.findings if kind is Kind.MANUAL} == set()
