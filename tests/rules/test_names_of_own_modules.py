"""RM695: legacy names that a test replaces in a module of the project."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.reporting.text import summary_text
from raymigrate.run.job import Job
from raymigrate.run.outcome import Summary
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


LOOP = """
from ray.air import Checkpoint, session
from job import f


def loop(config):
    session.report({{"loss": 1}}, checkpoint={})
"""
WITHOUT_RAY = "from unittest import mock\nimport job.train\nfrom job import train\n\n\n"
BY_DICT = 'Checkpoint.from_dict({"epoch": 1})'


def converted(tmp_path: Path, test: str, checkpoint: str = "None", where: str = "", job: Job | None = None) -> Summary:
    files = {"job/__init__.py": "", "job/train.py": LOOP.format(checkpoint), "test_loop.py": f"{WITHOUT_RAY}{test}"}
    write(tmp_path, files)
    return convert(tmp_path / where, job=job)


@pytest.mark.parametrize(
    "test",
    [
        '@mock.patch("job.train.session")\ndef test_loop(session):\n    train.loop({})\n',
        'def test_loop(monkeypatch):\n    monkeypatch.setattr(job.train, "session", None)\n',
        'def test_loop(monkeypatch):\n    monkeypatch.delattr("job.train.session")\n',
        'def test_loop(mocker):\n    mocker.spy(train, "session")\n',
        'def test_loop():\n    setattr(train, "session", None)\n',
    ],
)
def test_a_test_without_a_word_of_ray_is_told_by_the_run_that_converts_the_module(tmp_path: Path, test: str) -> None:
    summary = converted(tmp_path, test)
    [told] = [finding for finding in summary.findings if finding.code == "RM695"]
    assert told.message.startswith('"job.train.session" names ray.air.session, which is gone from there')
    assert "such as ray.train.report" in told.advice
    assert "1 of them reported by this run only" in summary_text(summary, dry_run=False)
    assert not list(convert(tmp_path).findings)


@pytest.mark.parametrize(
    ("test", "where"),
    [
        ('@mock.patch("job.train.loop")\ndef test_loop(loop):\n    train.loop({})\n', ""),
        ('@mock.patch("job.train.session")\ndef test_loop(session):\n    train.loop({})\n', "job"),
        ('def test_loop(monkeypatch):\n    monkeypatch.setattr(job.other, "session", None)\n', ""),
        ('def test_loop(monkeypatch):\n    job.train.loop({"session": monkeypatch})\n', ""),
    ],
)
def test_a_test_that_replaces_nothing_that_goes_is_not_told(tmp_path: Path, test: str, where: str) -> None:
    summary = converted(tmp_path, test, where=where)
    assert [result.path.endswith("train.py") for result in summary.changed] == [True]
    assert not [finding for finding in summary.findings if finding.code == "RM695"]


@pytest.mark.parametrize(("checkpoint", "is_gone"), [(BY_DICT, True), ("f(Checkpoint)", False)])
@pytest.mark.parametrize("rewrite", [True, False])
def test_a_class_that_the_converted_module_has_no_more_is_told(
    tmp_path: Path, checkpoint: str, *, is_gone: bool, rewrite: bool
) -> None:
    test = '@mock.patch("job.train.Checkpoint")\ndef test_loop(checkpoint):\n    train.loop({})\n'
    summary = converted(tmp_path, test, checkpoint, job=Job(Options(), rewrite=rewrite, write=rewrite))
    assert len([finding for finding in summary.findings if finding.code == "RM695"]) == is_gone
    assert ("import Checkpoint" in (tmp_path / "job/train.py").read_text()) is not (is_gone and rewrite)
    assert ("by this run only" in summary_text(summary, dry_run=not rewrite)) is (is_gone and rewrite)


def test_a_comment_keeps_what_no_later_run_tells(tmp_path: Path) -> None:
    test = '@mock.patch("job.train.session")\ndef test_loop(session):\n    train.loop({})\n'
    first = converted(tmp_path, test, job=Job(Options(todo=True)))
    text = (tmp_path / "test_loop.py").read_text()
    assert "(told once: delete this line when it is done)" in text
    for summary in first, convert(tmp_path, job=Job(Options(todo=True))):
        assert [finding.code for finding in summary.findings if finding.path.endswith("test_loop.py")] == ["RM695"]
        assert (tmp_path / "test_loop.py").read_text() == text
