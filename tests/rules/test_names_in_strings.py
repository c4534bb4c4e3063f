"""RM695: legacy names in strings."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from tests.rules.scripts import converted

TOLD = [
    'from unittest import mock\n\nwith mock.patch("ray.air.session.report"):\n    pass\n',
    'def test_report(monkeypatch):\n    monkeypatch.setattr("ray.air.session.report", print)\n',
    'import importlib\n\nair = importlib.import_module("ray.air")\n',
    "from ray import air\n\n\ndef config(name):\n    return getattr(air, name)\n",
    'import hydra\n\nhydra.utils.instantiate({"_target_": "ray.train.huggingface.TransformersTrainer"})\n',
    'from hydra.utils import get_class\n\ntrainer = get_class("ray.train.huggingface.accelerate.AccelerateTrainer")\n',
]
NOTES = ['NAMES = ["ray.air.session.report"]\n', 'print("ray.train.huggingface.TransformersTrainer")\n']
NOTHING = [
    '"""Was written for ray.air.session.report."""\n',
    'import logging\n\nlogging.info("ray.air is gone, use ray.train")\n',
    'PATH = "ray.train.torch.TorchTrainer"\n',
    'import ray.train\n\nwith mock.patch("ray.train.report"):\n    pass\n',
    'CALLBACK = "ray.train.huggingface.transformers.RayTrainReportCallback"\n',
    'LOGGER = "ray.air.integrations.wandb.setup_wandb"\n',
]


@pytest.mark.parametrize("script", TOLD)
def test_what_is_loaded_or_patched_by_a_legacy_name_is_told(script: str) -> None:
    assert len(converted(script).lines("RM695", Kind.MANUAL)) == 1


@pytest.mark.parametrize("script", NOTES)
def test_a_legacy_name_in_another_string_is_noted(script: str) -> None:
    outcome = converted(script)
    assert outcome.lines("RM695", Kind.NOTE) and not outcome.lines("RM695", Kind.MANUAL)


@pytest.mark.parametrize("script", NOTHING)
def test_prose_and_names_of_today_are_no_news(script: str) -> None:
    assert not converted(script).findings


def test_the_name_that_converted_code_uses_is_said() -> None:
    assert any("ray.train.report" in message for message in converted(TOLD[0]).messages)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ray.train.huggingface.HuggingFaceTrainer.fit", True),
        ("ray.train.huggingface.accelerate.AccelerateTrainer.fit", True),
        ("ray.train.huggingface.TransformersTrainer.restore", False),
    ],
)
def test_the_method_that_converted_code_calls_is_said(name: str, said: bool) -> None:
    messages = converted(f"from unittest import mock\n\nwith mock.patch({name!r}):\n    pass\n").messages
    assert len(messages) == 1 and ("ray.train.torch.TorchTrainer.fit" in messages[0]) is said


YAML = """\
# ray.air.session is what we had
trainer:
  _target_: ray.train.huggingface.TransformersTrainer  # a class
  scaling_config: {_target_: "ray.air.config.ScalingConfig"}
callback: ray.train.huggingface.transformers.RayTrainReportCallback
path: /data/ray.air.session/out
"""


def run(folder: Path, *options: str) -> Result:
    return CliRunner().invoke(main, ["--check", *options, str(folder)])


def test_the_names_in_yaml_files_are_told(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(YAML)
    result = run(tmp_path)
    assert result.exit_code == 1
    assert "config.yaml:3:13: RM695" in result.output and "config.yaml:4:3" in result.output
    assert result.output.count("RM695") == 2 and "ray.train.ScalingConfig" in result.output
    assert (tmp_path / "config.yaml").read_text() == YAML


def test_a_yaml_file_can_be_named_and_silenced(tmp_path: Path) -> None:
    path = tmp_path / "config.yml"
    path.write_text(YAML)
    assert run(path).output.count("RM695") == 2
    assert run(path, "--ignore", "RM695").exit_code == 0
    path.write_text(YAML.replace("  # a class", "  # raymigrate: skip[RM695]"))
    assert run(path).output.count("RM695 manual") == 1


def test_other_yaml_files_are_no_news(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("trainer: ray.train.torch.TorchTrainer\nname: [unclosed\n")
    assert run(tmp_path).exit_code == 0


LEGACY_PROGRAM = "from ray.train.huggingface import HuggingFaceTrainer\nHuggingFaceTrainer()\n"
OTHER_PROGRAM = "import ray.train\n\ndef loop():\n    ray.train.report({})\n"
USE = "with open('train.py', 'w') as file:\n    file.write(script)\n"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (LEGACY_PROGRAM, Kind.MANUAL),
        ("import ray.air\nray.air.session.report({})\n", Kind.MANUAL),
        ("    from ray.air.config import ScalingConfig\n    print(ScalingConfig())\n", Kind.MANUAL),
        (OTHER_PROGRAM, Kind.NOTE),
        ("from ray import tune\nprint(tune.run)\ntune.run(1)\n", Kind.NOTE),
        ("import ray\nray.init()\n", None),  # nothing of a job
        ("Write\nimport ray.train\nand go on.\n", None),  # prose
        ("Read\n  from ray.air to the end: it is gone.\n", None),
        ("import os\nos.system('ls')\n", None),
        ("import ray\nray.air.session.report({})\n", Kind.MANUAL),  # no import names it
        ("import os, ray.air\nos.system('ls')\n", Kind.MANUAL),
        ("import re\nimport ray.train as t\nt.report({})\nre.compile('\\d')\n", Kind.NOTE),  # an invalid escape
        ("import ray.train.huggingface as h\nh.HuggingFaceTrainer()\n", Kind.MANUAL),
        ("from ray.mlops import x\nx()\n", None),
        ("from ray.air import session", None),  # to look for, or to put in
        ("import ray.train\nfrom ray.air import session\n", None),
        ("from transformers import AdamW\nprint(AdamW)\n", Kind.MANUAL),  # transformers has it no more
        ("import transformers as t\nt.TrainingArguments('a', evaluation_strategy='no')\n", Kind.MANUAL),
        (
            "import os\nfrom transformers import AutoModel\nAutoModel.from_pretrained('a', load_in_8bit=1)\n",
            Kind.MANUAL,
        ),
        ("from transformers import TrainingArguments\nTrainingArguments('a', eval_strategy='no')\n", None),
        ("from torch.optim import AdamW\nprint(AdamW)\n", None),
        ("from transformers import AdamW", None),  # to look for, or to put in
    ],
)
def test_a_text_that_is_a_program_is_told(text: str, kind: Kind | None) -> None:
    outcome = converted(f"import ray.train\n\nscript = {text!r}\n{USE}")
    assert [found for code, found, _ in outcome.findings if code == "RM695"] == ([] if kind is None else [kind])


@pytest.mark.parametrize("before", ['"""{}"""\n', 'print(1)\n"""{}"""\n', 'script = f"""{}{{1}}"""\n'])
def test_one_that_nothing_takes_or_that_is_a_part_is_not(before: str) -> None:
    outcome = converted(f"{before.format(LEGACY_PROGRAM)}import ray.train\nprint(ray.train)\n")
    assert not any(code == "RM695" for code, *_ in outcome.findings)
