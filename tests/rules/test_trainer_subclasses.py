"""RM701 where a class made from Trainer is given a tokenizer."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from raymigrate.codemods.libraries.trainer_subclasses import give_old_tokenizer
from raymigrate.facts.syntax.module import Module
from tests.rules.scripts import converted

CLASSES = """
import abc
from transformers import Seq2SeqTrainer, Trainer, Trainer as HFTrainer


class Mixin:
    def __init__(self, *args, extra=None, **others):
        super().__init__(*args, **others)


class Base(Trainer):
    pass


class Own({bases}):
    {init}
"""
JOB = """
import ray
from transformers import TrainingArguments
arguments = TrainingArguments("out")
Own({call})
"""
CALL = "model=m, args=arguments, tokenizer=words"


def script(init: str, bases: str = "Trainer", call: str = CALL) -> str:
    return CLASSES.format(init=init.replace("\n", "\n    "), bases=bases) + JOB.format(call=call)


@pytest.mark.parametrize("bases", ["Trainer", "HFTrainer", "Seq2SeqTrainer", "Base", "Mixin, Trainer", "Base, abc.ABC"])
@pytest.mark.parametrize(
    "init",
    [
        "pass",
        "def __init__(self, *args, smooth=0.0, **kwargs):\n    super().__init__(*args, **kwargs)",
        "def __init__(self, **kw):\n    super(Own, self).__init__(**kw)\n    self.x = 1",
        "def __init__(self, model, args, **kw):\n    super().__init__(model=model, args=args, **kw)",
        'def __init__(self, *a, **kw):\n    self.x = kw.pop("x", 1)\n    Trainer.__init__(self, *a, **kw)',
    ],
)
def test_the_argument_is_renamed_where_it_is_handed_on(init: str, bases: str) -> None:
    outcome = converted(script(init, bases))
    assert "Own(model=m, args=arguments, processing_class=words)" in outcome.text
    assert len(outcome.lines("RM701", Kind.CONVERTED)) == 1 and not outcome.lines("RM701", Kind.MANUAL)


@pytest.mark.parametrize(
    "init",
    [
        "def __init__(self, model, tokenizer=None, **kw):\n    super().__init__(model, tokenizer=tokenizer, **kw)",
        "def __init__(self, model, tokenizer, **kw):\n    super(Own, self).__init__(model, tokenizer=tokenizer, **kw)",
        "def __init__(self, model, tokenizer, **kw):\n    Trainer.__init__(self, model, tokenizer=tokenizer, **kw)",
    ],
)
def test_a_constructor_that_takes_it_hands_it_on_under_the_new_name(init: str) -> None:
    outcome = converted(script(init))
    assert "processing_class=tokenizer, **kw)" in outcome.text
    assert CALL in outcome.text
    assert len(outcome.lines("RM701", Kind.CONVERTED)) == 1 and not outcome.lines("RM701", Kind.MANUAL)


@pytest.mark.parametrize(
    "init",
    [
        'def __init__(self, **kw):\n    self.words = kw["tokenizer"]\n    super().__init__(**kw)',
        "def __init__(self, **kw):\n    build(self, kw)",
        "def __init__(self, **kw):\n    build(kw)\n    super().__init__(**kw)",
        "def __init__(self, **kw):\n    build(self, **kw)\n    super().__init__(**kw)",
        "def __init__(self, **kw):\n    self.given = kw\n    super().__init__(**kw)",
        "def __init__(self, *args, smooth=0.0):\n    super().__init__(*args)",
    ],
)
def test_a_constructor_that_cannot_be_followed_is_told(init: str) -> None:
    outcome = converted(script(init))
    assert len(outcome.lines("RM701", Kind.MANUAL)) == 1
    assert "tokenizer=words" in outcome.text


def test_a_class_without_trainer_keeps_its_argument() -> None:
    init = "def __init__(self, **kw):\n    super().__init__(**kw)"
    assert not converted(script(init, "Mixin", "tokenizer=words")).findings


def test_a_class_of_another_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(CLASSES.format(bases="Trainer", init="pass"))
    job = tmp_path / "job.py"
    job.write_text("from own import Own\n" + JOB.format(call=CALL))
    CliRunner().invoke(main, [str(tmp_path)])
    assert "processing_class=words" in job.read_text()


NOT_THERE = """
from ray.air import session
from transformers import TrainingArguments
{imports}

def loop(config):
    args = TrainingArguments("out")
    {call}
    session.report({{}})
"""
BY_NAME = "RewardTrainer(model=make(), args=args, train_dataset=rows, tokenizer=words)"


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("from rewards import RewardTrainer", BY_NAME),
        ("from rewards import RewardTrainer as R", BY_NAME.replace("RewardTrainer", "R")),
        ("import rewards", f"rewards.{BY_NAME}"),
        ("from .rewards import RewardTrainer", "RewardTrainer(make(), args, train_dataset=rows, tokenizer=words)"),
        ("from rewards import RewardTrainer", "RewardTrainer(make(), args=args, tokenizer=words)"),
        ("from rewards import RewardTrainer as R\n\nMade = R", BY_NAME.replace("RewardTrainer", "Made")),
        ("import rewards\n\nclass Own(rewards.RewardTrainer): ...", "Own(make(), args, tokenizer=words)"),
        ("from rewards import RewardTrainer", "more = {'tokenizer': words}; RewardTrainer(make(), args, **more)"),
        ("from rewards import R", "more = {'tokenizer': words}; R(make(), args, processing_class=words, **more)"),
        ("from rewards import RewardTrainer", "RewardTrainer(**dict(model=make(), args=args, tokenizer=words))"),
        ("from rewards import make_trainer", "make_trainer(model=make(), args=args, tokenizer=words)"),
    ],
)
def test_a_class_that_cannot_be_seen_and_is_called_as_a_trainer_is_told(imports: str, call: str) -> None:
    outcome = converted(NOT_THERE.format(imports=imports, call=call))
    assert len(outcome.lines("RM701", Kind.MANUAL)) == 1
    assert "hands its arguments to Trainer" in "".join(outcome.messages)
    assert call.rpartition("; ")[2] in outcome.text


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("from rewards import batches", "batches(rows, args, tokenizer=words)"),  # of a function anything can be args
        ("from rewards import batches", "more = dict(tokenizer=words); batches(rows, args, **more)"),
        ("from rewards import RewardTrainer", "RewardTrainer(make(), args, processing_class=words)"),
        ("from rewards import RewardTrainer", "more = {'lr': 1}; RewardTrainer(make(), args, **more)"),
        ("from transformers import pipeline", "pipeline(model=make(), args=args, tokenizer=words)"),
        ("from rewards import Collator", "Collator(rows, 8, tokenizer=words)"),
        ("class Own:\n    def __init__(self, model, args, tokenizer): ...", "Own(make(), args, tokenizer=words)"),
    ],
)
def test_what_is_not_called_as_a_trainer_keeps_its_argument(imports: str, call: str) -> None:
    assert not converted(NOT_THERE.format(imports=imports, call=call)).lines("RM701", Kind.MANUAL)


UNPACKED = """\
from datasets import load_from_disk
from transformers import AutoModel, Trainer, TrainingArguments


class Base(Trainer):
    def __init__(self, *args, {own}**kwargs):
        super().__init__(*args, **kwargs)


class Own(Base):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)


more = {more}
rows = load_from_disk("/rows")
trainer = Own(AutoModel.from_pretrained("org/x"), TrainingArguments("/out"), train_dataset=rows, **more)
trainer.train()
"""


@pytest.mark.parametrize(
    ("own", "more", "told"),
    [
        ("", "dict(tokenizer=None)", 1),
        ("", '{"tokenizer": None}', 1),
        ("", '{"processing_class": None}', 0),
        ("tokenizer=None, ", '{"tokenizer": None}', 0),
    ],
)
def test_a_tokenizer_in_a_dict_for_a_class_made_from_trainer_is_told(own: str, more: str, told: int) -> None:
    outcome = converted(UNPACKED.format(own=own, more=more), to_ray=True)
    assert "TorchTrainer(" in outcome.text
    assert len(outcome.lines("RM701", Kind.MANUAL)) == told


@pytest.mark.parametrize(
    ("own", "more", "shows"),
    [
        ("", '{"tokenizer": None}', True),
        ("", "dict(tokenizer=None)", True),
        ("", '{"processing_class": None}', False),
        ("", '{"tokenizer": None, "processing_class": None}', False),
        ("tokenizer=None, ", '{"tokenizer": None}', False),
        ("", "read()", False),
    ],
)
def test_a_tokenizer_in_a_dict_shows_transformers_4_as_one_by_name_does(own: str, more: str, shows: bool) -> None:
    assert give_old_tokenizer(Module(UNPACKED.format(own=own, more=more))) is shows


@pytest.mark.parametrize(
    "table",
    [
        'TABLE = {"own": Base}\nTABLE = {"fast": TABLE["own"], "x": TABLE["fast"]}\n',
        'TABLE = {"own": Base, "x": OTHER["y"]}\nOTHER = {"y": TABLE["x"]}\n',
    ],
)
def test_a_table_that_is_made_of_itself_is_followed_once(table: str) -> None:
    call = 'TABLE["x"](model=m, args=arguments, tokenizer=words)\n'
    outcome = converted(f"{script('pass')}{table}{call}")
    assert call.replace("tokenizer", "processing_class") in outcome.text
