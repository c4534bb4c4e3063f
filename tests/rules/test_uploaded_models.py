"""RM758: WANDB_LOG_MODEL has a value that transformers 5 takes."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = "import os\n\nimport ray\n\n"


@pytest.mark.parametrize(
    ("setting", "now"),
    [
        ('os.environ["WANDB_LOG_MODEL"] = "TRUE"', 'os.environ["WANDB_LOG_MODEL"] = "end"'),
        ("os.environ['WANDB_LOG_MODEL'] = 'true'", '= "end"'),
        ('os.environ["WANDB_LOG_MODEL"] = "1"', '= "end"'),
        ('os.environ["WANDB_LOG_MODEL"] = "Checkpoint"', '= "checkpoint"'),
        ('os.environ.setdefault("WANDB_LOG_MODEL", "yes")', '"end")'),
        ('os.environ.update({"WANDB_LOG_MODEL": "True", "HF_HOME": other})', '{"WANDB_LOG_MODEL": "end", "HF_HOME"'),
        ('os.environ.update(WANDB_LOG_MODEL="on")', '(WANDB_LOG_MODEL="end")'),
        ('ray.init(runtime_env={"env_vars": {"WANDB_LOG_MODEL": "TRUE"}})', '"WANDB_LOG_MODEL": "end"'),
        ('env = {"WANDB_LOG_MODEL": "TRUE"}\nray.init(runtime_env={"env_vars": env})', '"WANDB_LOG_MODEL": "end"'),
    ],
)
def test_the_value_is_the_one_of_today(setting: str, now: str) -> None:
    outcome = converted(HEAD + setting)
    assert now in outcome.text
    assert outcome.lines("RM758", Kind.CONVERTED)
    assert not [code for code, _, _ in converted(outcome.text).findings if code == "RM758"]


def test_a_value_that_comes_from_elsewhere_is_told() -> None:
    outcome = converted(f'{HEAD}LOG = "TRUE"\nos.environ["WANDB_LOG_MODEL"] = LOG')
    assert outcome.lines("RM758", Kind.MANUAL) == [6]


@pytest.mark.parametrize(
    "setting",
    [
        'os.environ["WANDB_LOG_MODEL"] = "end"',
        'os.environ["WANDB_LOG_MODEL"] = "checkpoint"',
        'os.environ["WANDB_LOG_MODEL"] = "FALSE"',
        'os.environ["WANDB_LOG_MODEL"] = "0"',
        'os.environ["WANDB_LOG_MODEL"] = args.log_model',
        'os.environ["CLEARML_LOG_MODEL"] = "TRUE"',
        'settings["WANDB_LOG_MODEL"] = "TRUE"',
        'print("WANDB_LOG_MODEL", "TRUE", os.environ.get("WANDB_LOG_MODEL", "TRUE"))',
        'del os.environ["WANDB_LOG_MODEL"]',
    ],
)
def test_values_that_mean_the_same_and_other_variables_stay(setting: str) -> None:
    outcome = converted(HEAD + setting)
    assert outcome.text == HEAD + setting
    assert not [code for code, _, _ in outcome.findings if code == "RM758"]
