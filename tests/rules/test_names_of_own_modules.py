"""RM695: legacy names that a test replaces in a module of the project."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import convert, write

TRAIN = """
from ray import air
from ray.air import session
from ray.air.config import ScalingConfig
from ray.train import huggingface as of_ray
from ray.train.batch_predictor import BatchPredictor
from ray.train.huggingface import HuggingFaceTrainer, TransformersTrainer as Legacy
from transformers import Trainer, TrainingArguments


def init(train_dataset, eval_dataset=None, **config):
    args = TrainingArguments("out", no_cuda=True, report_to="none")
    return Trainer(make_model(), args, train_dataset=train_dataset)


def fit(rows):
    session.report({"size": session.get_world_size()})
    run_config = air.RunConfig(name="a")
    for trainer in HuggingFaceTrainer, Legacy, of_ray.HuggingFaceTrainer:
        trainer(init, datasets={"train": rows}, run_config=run_config)
    return HuggingFaceTrainer(init, datasets={"train": rows}, scaling_config=ScalingConfig(num_workers=1)).fit()
"""
TEST = """
from unittest import mock
from unittest.mock import patch

import job.train
from job import train
from job.train import fit


def test_fit(monkeypatch, mocker):
    {line}
    fit([])
"""
TORCH = "Name job.train.TorchTrainer here"


def told(tmp_path: Path, line: str, train: str = TRAIN) -> list[tuple[str, str]]:
    write(tmp_path, {"job/__init__.py": "", "job/train.py": train, "tests/test_fit.py": TEST.format(line=line)})
    findings = [finding for result in convert(tmp_path).results for finding in result.findings]
    found = [f for f in findings if f.code == "RM695" and f.kind is Kind.MANUAL and "once it is converted" in f.message]
    assert all(finding.path.endswith("test_fit.py") and finding.line == 10 for finding in found)
    return [(finding.message, finding.advice) for finding in found]


@pytest.mark.parametrize(
    ("line", "name", "advice"),
    [
        ('mock.patch("job.train.HuggingFaceTrainer").start()', "HuggingFaceTrainer", TORCH),
        ('patch("job.train.Legacy", autospec=True).start()', "Legacy", TORCH),
        ('patch("job.train.of_ray.HuggingFaceTrainer").start()', "of_ray.HuggingFaceTrainer", TORCH),
        ('patch.object(job.train, "HuggingFaceTrainer").start()', "HuggingFaceTrainer", TORCH),
        ('mock.patch.object(train, "HuggingFaceTrainer").start()', "HuggingFaceTrainer", TORCH),
        ('patch.multiple("job.train", HuggingFaceTrainer=print).start()', "HuggingFaceTrainer", TORCH),
        ('monkeypatch.setattr("job.train.HuggingFaceTrainer", print)', "HuggingFaceTrainer", TORCH),
        ('monkeypatch.setattr(train, "HuggingFaceTrainer", print)', "HuggingFaceTrainer", TORCH),
        ('mocker.patch("job.train.HuggingFaceTrainer")', "HuggingFaceTrainer", TORCH),
        ('mocker.spy(train, "BatchPredictor")', "BatchPredictor", "Change the string"),
        ('patch("job.train.session.report").start()', "session.report", "Converted code uses ray.train.report"),
        ('patch("job.train.session").start()', "session", "Change the string"),
        ('patch("job.train.air.RunConfig").start()', "air.RunConfig", "Converted code uses ray.train.RunConfig"),
    ],
)
def test_what_is_replaced_in_a_module_that_loses_it_is_told(tmp_path: Path, line: str, name: str, advice: str) -> None:
    [(message, said)] = told(tmp_path, line)
    assert message.startswith(f'"job.train.{name}" names ray.')
    assert advice in said


@pytest.mark.parametrize(
    "line",
    [
        'patch("job.train.ScalingConfig").start()',
        'patch("job.train.fit").start()',
        'patch("job.train.Trainer").start()',
        'patch("job.data.HuggingFaceTrainer").start()',
        'patch("job.train.HuggingFace").start()',
        "patch.dict({'a': 1}, b=2).start()",
        "patch(fit).start()",
        'print("job.train.HuggingFaceTrainer")',
        'monkeypatch.setattr(train, fit, "HuggingFaceTrainer")',
        'monkeypatch.setenv("job.train.HuggingFaceTrainer", "1")',
    ],
)
def test_what_stays_is_no_news(tmp_path: Path, line: str) -> None:
    assert not told(tmp_path, line)


def test_a_name_that_the_module_may_define_itself_is_no_news(tmp_path: Path) -> None:
    train = f"{TRAIN}\n\nif make_model():\n\n    class Legacy:\n        pass\n"
    assert not told(tmp_path, 'patch("job.train.Legacy").start()', train)


@pytest.mark.parametrize("line", ['patch("job.train.init").start()', 'patch.object(train, "init").start()'])
def test_an_init_function_that_a_test_replaces_stays(tmp_path: Path, line: str) -> None:
    head, _, fit = TRAIN.partition("    for trainer")
    told(tmp_path, line, head + fit[fit.index("    return") :])
    assert "def init(train_dataset" in (tmp_path / "job/train.py").read_text()
