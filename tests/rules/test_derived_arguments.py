"""RM701 to RM706 and RM753 where a class is called that the project makes from TrainingArguments."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from tests.rules.scripts import converted

CLASSES = """
from dataclasses import dataclass, field
from typing import Optional

import transformers
from transformers import Seq2SeqTrainingArguments, TrainingArguments
from trl import SFTConfig


@dataclass
class Own(TrainingArguments):
    model: Optional[str] = field(default=None)


@dataclass
class Further(Own):
    more: int = 1


@dataclass
class OfSequences(Seq2SeqTrainingArguments):
    more: int = 1


@dataclass
class OfTrl(SFTConfig):
    more: int = 1


class Plain(transformers.TrainingArguments):
    pass


class HandsOn(TrainingArguments):
    def __init__(self, *args, extra=1, **kwargs):
        super().__init__(*args, **kwargs)
        self.extra = extra


@dataclass
class Takes(TrainingArguments):
    evaluation_strategy: str = "mine"
    report_to: str = "none"


class Hides(TrainingArguments):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **changed(kwargs))


@dataclass
class Other:
    evaluation_strategy: str = "mine"
"""
JOB = """
import ray
from ray.air.config import ScalingConfig
from ray.train.huggingface import HuggingFaceTrainer
from transformers import Trainer
{imports}


def init(train_dataset, eval_dataset=None, **config):
    args = config["args"]
    return Trainer(model=make(args), args=args, train_dataset=train_dataset)


def train_ray(args):
    HuggingFaceTrainer(
        trainer_init_per_worker=init,
        trainer_init_config={{"args": args}},
        scaling_config=ScalingConfig(num_workers=2),
        datasets={{"train": ray.data.range(10)}},
    ).fit()
"""
RUN = "from job import train_ray\n{imports}\n\n{call}\n"
REACHED = ["Own", "Further", "OfSequences", "OfTrl", "Plain", "HandsOn"]


def projects(folder: Path, imports: str, call: str) -> str:
    """Converts a project of three files; what becomes of the one that calls, and what the command says."""
    (folder / "setup.py").touch()
    (folder / "own.py").write_text(CLASSES)
    (folder / "job.py").write_text(JOB.format(imports="import own"))
    run = folder / "run.py"
    run.write_text(RUN.format(imports=imports, call=call))
    output = CliRunner().invoke(main, [str(folder)]).output
    after = {path: path.read_text() for path in folder.iterdir()}
    CliRunner().invoke(main, [str(folder)])
    assert after == {path: path.read_text() for path in folder.iterdir()}  # a second run changes nothing
    return run.read_text() + output


@pytest.mark.parametrize("name", REACHED)
def test_an_argument_is_renamed_where_it_reaches_training_arguments(name: str) -> None:
    call = f'{name}("o", evaluation_strategy="no", no_cuda=True, logging_dir="x")'
    text = f"import ray\n{CLASSES}\n{call}\n"
    outcome = converted(text)
    assert f'{name}("o", eval_strategy="no", use_cpu=True)' in outcome.text
    own = text.splitlines().index('    evaluation_strategy: str = "mine"') + 1  # the field of Takes, not the call
    assert outcome.lines("RM701", Kind.MANUAL) == [own]


@pytest.mark.parametrize("name", REACHED)
@pytest.mark.parametrize(
    ("imports", "made"),
    [("from own import {name}", "{name}"), ("import own", "own.{name}"), ("from own import {name} as A", "A")],
)
def test_classes_of_other_files_are_followed(tmp_path: Path, name: str, imports: str, made: str) -> None:
    made = made.format(name=name)
    outcome = projects(tmp_path, imports.format(name=name), f'train_ray({made}("o", evaluation_strategy="no"))')
    assert f'train_ray({made}("o", eval_strategy="no"))' in outcome
    assert "RM753" not in outcome  # the legacy trainer had removed all trackers


@pytest.mark.parametrize(
    ("call", "after"),
    [
        ('args = Own("o", optim="adamw_hf")', 'args = Own("o", optim="adamw_torch")'),
        ('args = Own("o", True, fp16=True)', 'args = Own(output_dir="o", fp16=True)'),
        ('kw = {"no_cuda": True}\nargs = Own("o", **kw)', 'kw = {"use_cpu": True}\nargs = Own("o", **kw)'),
    ],
)
def test_values_positions_and_dicts_are_as_for_training_arguments(tmp_path: Path, call: str, after: str) -> None:
    assert after in projects(tmp_path, "from own import Own", f"{call}\ntrain_ray(args)")


def test_what_cannot_be_followed_is_told(tmp_path: Path) -> None:
    call = 'train_ray(Hides("o", evaluation_strategy="no", logging_dir="x"))'
    outcome = projects(tmp_path, "from own import Hides", call)
    assert call in outcome
    assert "evaluation_strategy= raises a TypeError today, if Hides hands its arguments to TrainingArguments" in outcome
    assert "logging_dir= raises a TypeError today, if Hides hands" in outcome


@pytest.mark.parametrize("name", ["Takes", "Other"])
def test_a_class_that_takes_the_argument_itself_keeps_it(tmp_path: Path, name: str) -> None:
    call = f'train_ray({name}("o", evaluation_strategy="no"))'
    outcome = projects(tmp_path, f"from own import {name}", call)
    assert call in outcome
    assert "run.py" not in outcome.partition("train_ray(")[2]


def test_a_constructor_that_sets_a_key_changes_with_those_who_call_it(tmp_path: Path) -> None:
    sets = (
        '    def __init__(self, **kwargs):\n        kwargs.setdefault("{}", "no")\n        super().__init__(**kwargs)\n'
    )
    head = "from transformers import TrainingArguments\n\n\nclass Sets(TrainingArguments):\n"
    (tmp_path / "sets.py").write_text(head + sets.format("evaluation_strategy"))
    outcome = projects(tmp_path, "from sets import Sets", 'train_ray(Sets(output_dir="o", no_cuda=True))')
    assert 'train_ray(Sets(output_dir="o", use_cpu=True))' in outcome
    assert (tmp_path / "sets.py").read_text() == head + sets.format("eval_strategy")


def test_a_script_without_ray_stays(tmp_path: Path) -> None:
    (tmp_path / "setup.py").touch()
    (tmp_path / "own.py").write_text(CLASSES)
    (tmp_path / "job.py").write_text(JOB.format(imports="import own"))
    plain = tmp_path / "plain.py"
    plain.write_text(text := 'from own import Own\n\nprint(Own("o", evaluation_strategy="no"))\n')
    CliRunner().invoke(main, [str(tmp_path)])
    assert plain.read_text() == text


@pytest.mark.parametrize(
    ("name", "notes"), [("Own", 1), ("OfTrl", 1), ("HandsOn", 1), ("Takes", 0), ("Hides", 0), ("Other", 0)]
)
def test_the_default_of_report_to_is_told(name: str, notes: int) -> None:
    made = f'args = {name}(output_dir="o")\ntransformers.Trainer(m, args).train()\n'
    assert len(converted(f"{CLASSES}\nfrom ray.air import session\n{made}").lines("RM753", Kind.NOTE)) == notes


def test_a_strategy_of_fsdp_is_told() -> None:
    found = converted(f'import ray\n{CLASSES}\nOwn("o", fsdp="no_shard")\n')
    assert len(found.lines("RM705", Kind.MANUAL)) == 1
