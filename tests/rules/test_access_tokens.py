"""RM701: `use_auth_token=`, which is token= today."""

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
