"""RM705: values that TrainingArguments refuses, in dicts that it is made of."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from tests.rules.scripts import converted

SCRIPT = """
from ray.air import session
from ray.train import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from ray.train.torch import TorchTrainer
from transformers import Trainer, TrainingArguments
from job import flag, make, rows

{before}


def loop(config):
    {body}
    Trainer(model=make(), args=args, train_dataset=rows).train()


TorchTrainer(loop, train_loop_config={given}, scaling_config=ScalingConfig(num_workers=2)).fit()
"""
OLD = '{"optim": "adamw_hf", "report_to": None}'
NEW = '{"optim": "adamw_torch", "report_to": "all"}'
KEYWORDS = 'optim="adamw_hf", report_to=None'


@pytest.mark.parametrize(
    ("before", "body", "given"),
    [
        ("KEYS = {}", 'args = TrainingArguments("o", **KEYS)', "{{}}"),
        ("", 'args = TrainingArguments("o", **{})', "{{}}"),
        ("", 'args = TrainingArguments("o", **config)', "{}"),
        ("", 'args = TrainingArguments("o", **config["args"])', '{{"args": {}}}'),
        ("BASE = {}", 'args = TrainingArguments(**{{**BASE, "output_dir": "o"}})', "{{}}"),
        ("def settings():\n    return {}", 'args = TrainingArguments("o", **settings())', "{{}}"),
    ],
)
def test_values_in_a_dict_are_changed(before: str, body: str, given: str) -> None:
    parts = {"before": before, "body": body, "given": given}
    script, after = (
        SCRIPT.format(**{name: part.format(values) for name, part in parts.items()}) for values in (OLD, NEW)
    )
    outcome = converted(script)
    assert NEW in outcome.text
    assert len(outcome.lines("RM705", Kind.CONVERTED)) == 2
    assert not converted(after).lines("RM705", Kind.CONVERTED)


@pytest.mark.parametrize(
    ("before", "body", "lines"),
    [
        ("KEYS = dict(report_to='wandb' if flag else None)", "args = TrainingArguments('o', **KEYS)", [8]),
        (
            "KEYS = {'report_to': None}",
            "args = TrainingArguments('o', **KEYS)\n    print(KEYS['report_to'] is None)",
            [8],
        ),
        ("NONE = None\nKEYS = {'report_to': NONE}", "args = TrainingArguments('o', **KEYS)", [9]),
    ],
)
def test_values_that_are_set_elsewhere_are_told(before: str, body: str, lines: list[int]) -> None:
    outcome = converted(SCRIPT.format(before=before, body=body, given="{}"))
    assert outcome.lines("RM705", Kind.MANUAL) == lines
    assert any('Write "all" where the value is set. That is what None meant' in message for message in outcome.messages)


@pytest.mark.parametrize(
    ("before", "body"),
    [
        (f"KEYS = {OLD}", "args = make(**KEYS)"),
        (f"KEYS = {OLD}", 'KEYS.pop("optim")\n    KEYS.pop("report_to")\n    args = TrainingArguments("o", **KEYS)'),
        (f"KEYS = {OLD}", 'args = TrainingArguments("o", optim="sgd", report_to="none", **KEYS)'),
        (
            f'def made(optim, report_to, **keys):\n    return TrainingArguments("o", **keys)\nKEYS = {OLD}',
            "args = made(**KEYS)",
        ),
        (f'KEYS = {{"more": {OLD}}}', 'args = TrainingArguments("o", **KEYS)'),
        (f"KEYS = {NEW}", 'args = TrainingArguments("o", **KEYS)'),
    ],
)
def test_values_that_do_not_get_there_are_no_news(before: str, body: str) -> None:
    outcome = converted(SCRIPT.format(before=before, body=body, given="{}"))
    assert not [code for code, _, _ in outcome.findings if code == "RM705"]


def test_under_the_legacy_trainer_none_logged_nowhere() -> None:
    script = SCRIPT.partition("def loop")[0].format(before="") + (
        "def init(train_dataset, eval_dataset=None, **config):\n"
        "    return Trainer(model=make(), args=TrainingArguments('o', **config), train_dataset=train_dataset)\n\n\n"
        f"TransformersTrainer(init, trainer_init_config={OLD}, scaling_config=ScalingConfig(2), datasets=rows).fit()\n"
    )
    text = converted(script).text
    assert '"optim": "adamw_torch"' in text and '"report_to": "none"' in text


def test_a_dict_of_another_file_is_told_where_it_is_unpacked(tmp_path: Path) -> None:
    (tmp_path / "setup.py").touch()
    (tmp_path / "job.py").write_text("flag = make = rows = None\nKEYS = {'optim': 'adamw_hf'}\n")
    body = "args = TrainingArguments('o', **KEYS)"
    script = SCRIPT.format(before="from job import KEYS", body=body, given="{}").lstrip("\n")
    (tmp_path / "train.py").write_text(script)
    told = CliRunner().invoke(main, ["--check", str(tmp_path)]).stdout
    line = script.split("\n").index(f"    {body}") + 1
    assert f"train.py:{line}:35: RM705 manual: optim='adamw_hf', which line 2 of {tmp_path}/job.py writes," in told


OWN = (
    "class Own:\n    def __init__(self, report_to=None, optim=None, **others):\n        self.all = report_to is None\n"
)


@pytest.mark.parametrize(
    ("before", "body"),
    [
        (f"{OWN}KEYS = {OLD}\nOwn(**KEYS)", "args = TrainingArguments('o', **KEYS)"),
        (f"{OWN}KEYS = {OLD}", "args = TrainingArguments('o', **KEYS)\n    Own(**{**KEYS, 'optim': 'sgd'})"),
        (f"KEYS = dict({KEYWORDS})\nmake(**KEYS)", "args = TrainingArguments('o', **KEYS)"),
        (f"KEYS = {OLD}\ndef own(**more):\n    return make(**more)\nown(**KEYS)", "args = TrainingArguments(**KEYS)"),
    ],
)
def test_values_that_other_calls_get_too_are_told(before: str, body: str) -> None:
    outcome = converted(SCRIPT.format(before=before, body=body, given="{}"))
    assert not outcome.lines("RM705", Kind.CONVERTED)
    assert len(outcome.lines("RM705", Kind.MANUAL)) == 2


@pytest.mark.parametrize(
    ("before", "body"),
    [
        (f"KEYS = {OLD}\nsecond = TrainingArguments('p', **KEYS)", "args = TrainingArguments('o', **KEYS)"),
        (
            f"class Own(TrainingArguments):\n    pass\nKEYS = {OLD}\nOwn('p', **KEYS)",
            "args = TrainingArguments('o', **KEYS)",
        ),
        (
            f"def made(**more):\n    return TrainingArguments('o', **more)\nKEYS = {OLD}",
            "made(**KEYS)\n    args = TrainingArguments('o', **KEYS)",
        ),
        (f"KEYS = {OLD}\nOTHERS = dict(**KEYS)\nmake(**dict(optim='sgd'))", "args = TrainingArguments('o', **KEYS)"),
    ],
)
def test_values_that_only_such_arguments_get_are_changed(before: str, body: str) -> None:
    outcome = converted(SCRIPT.format(before=before, body=body, given="{}"))
    assert NEW in outcome.text and not outcome.lines("RM705", Kind.MANUAL)
