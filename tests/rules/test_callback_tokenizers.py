"""RM725: what Trainer hands to callbacks has no tokenizer today."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from tests.rules.scripts import converted

SCRIPT = """
import ray
from hooks import draw
from transformers import EarlyStoppingCallback, TrainerCallback
from transformers.integrations import WandbCallback
from volume import Loud


def keep(folder, tokenizer=None, **others):
    tokenizer.save_pretrained(folder)


class Base(TrainerCallback):
    tokenizer = None


class Own({base}):
    def on_save(self, args, state, control, {parameters}):
        {body}

    def store(self, folder, tokenizer=None, **others):
        tokenizer.save_pretrained(folder)

    def look(self, words):
        return words["tokenizer"]

    def look_at(self, **words):
        return words.get("tokenizer")
"""
BASES = ["TrainerCallback", "Base", "EarlyStoppingCallback", "WandbCallback", "Loud, TrainerCallback"]


def script(parameters: str, body: str, base: str = "TrainerCallback") -> str:
    return SCRIPT.format(parameters=parameters, body=body, base=base)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize(
    ("parameters", "body", "now"),
    [
        ("**kwargs", 'kwargs["tokenizer"].pad()', 'kwargs["processing_class"].pad()'),
        ("**kw", "kw.get('tokenizer').pad()", "kw.get('processing_class').pad()"),
        ("**kw", 'words = kw.pop("tokenizer", None)', 'words = kw.pop("processing_class", None)'),
        ("**kw", 'return "tokenizer" in kw', 'return "processing_class" in kw'),
        ("tokenizer=None, **kw", "tokenizer.pad()", "processing_class.pad()"),
        ("model, tokenizer, **kw", "draw(lambda: tokenizer.pad())", "draw(lambda: processing_class.pad())"),
        ("*, tokenizer: 'Words' = None, **kw", "tokenizer.pad()", "*, processing_class: 'Words' = None, **kw"),
        ("tokenizer, **kw", 'print(f"{tokenizer}")', 'tokenizer = processing_class\n        print(f"{tokenizer}")'),
        ("tokenizer, **kw", "tokenizer = tokenizer.x", "tokenizer = processing_class\n        tokenizer = tokenizer.x"),
        ("**kw", 'self.store("x", **kw)', 'self.store("x", tokenizer=kw["processing_class"], **kw)'),
        ("**kw", 'keep("x", **kw)', 'keep("x", tokenizer=kw["processing_class"], **kw)'),
        ("**kw", "self.look(kw)", 'words["processing_class"]'),
        ("**kw", "Own.look(self, kw)", 'words["processing_class"]'),
        ("**kw", "self.look(words=kw)", 'words["processing_class"]'),
        ("**kw", "self.look_at(**kw)", 'words.get("processing_class")'),
        ("**kw", 'k = dict(kw); k["tokenizer"].pad()', 'k["processing_class"].pad()'),
        ("**kw", 'k = {**kw, "a": 1}; k["tokenizer"].pad()', 'k["processing_class"].pad()'),
        ("**kw", 'k = kw.copy(); k["tokenizer"].pad()', 'k["processing_class"].pad()'),
    ],
)
def test_a_callback_takes_what_trainer_hands_it_today(parameters: str, body: str, now: str, base: str) -> None:
    outcome = converted(script(parameters, body, base))
    assert now in outcome.text
    assert [became for code, became, _ in outcome.findings if code == "RM725"] == [Kind.CONVERTED]


def test_the_method_of_a_base_is_called_with_the_new_name_too() -> None:
    body = "super().on_save(args, state, control, tokenizer=tokenizer, **kw)"
    after = converted(script("tokenizer=None, **kw", body, "WandbCallback")).text
    assert "super().on_save(args, state, control, processing_class=processing_class, **kw)" in after


@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        ("**kw", "draw(**kw)"),
        ("**kw", "self.hook(**kw)"),
        ("**kw", 'draw["words"](**kw)'),
        ("**kw", "self.hooks[0](**kw)"),
        ("**kw", "print(f\"{kw['tokenizer']}\")"),
        ("**kw", 'name = "tokenizer"; kw[name].pad()'),
        ("tokenizer, processing_class=None, **kw", "print(tokenizer or processing_class)"),
    ],
)
def test_what_cannot_be_followed_is_told(parameters: str, body: str) -> None:
    outcome = converted(script(parameters, body))
    assert [became for code, became, _ in outcome.findings if code == "RM725"] == [Kind.MANUAL]


@pytest.mark.parametrize("base", [*BASES, "object"])
@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        ("**kw", "super().on_save(args, state, control, **kw)"),
        ("**kw", "print(**kw)"),
        ("**kw", 'kw.get("processing_class", kw.get("tokenizer")).pad()'),
        ("**kw", 'kw["tokenizer"] = self.words; kw["tokenizer"].pad()'),
        ("processing_class=None, tokenizer=None, **kw", "print(processing_class or tokenizer)"),
        ("processing_class=None, **kw", "print(processing_class)"),
        ("**kw", 'self.batch["tokenizer"]'),
        ("**kw", "self.other(tokenizer=1)"),
    ],
)
def test_callbacks_for_both_versions_and_of_today_are_left(parameters: str, body: str, base: str) -> None:
    outcome = converted(script(parameters, body, base))
    assert not [code for code, _, _ in outcome.findings if code == "RM725"]


def test_a_class_that_is_no_callback_is_left() -> None:
    outcome = converted(script("tokenizer, **kw", 'print(tokenizer, kw["tokenizer"])', "Loud"))
    assert not outcome.findings


KEEPS = """
from transformers import TrainerCallback


class Base(TrainerCallback):
    def on_save(self, args, state, control, tokenizer=None, **kwargs):
        self.keep(tokenizer)


def store(folder, tokenizer=None, **others):
    tokenizer.save_pretrained(folder)


def look(**words):
    return words["tokenizer"]
"""
USES = """
import ray.air
from keeps import Base, look, store


class Own(Base):
    def on_log(self, args, state, control, **kwargs):
        store(args.output_dir, **kwargs)
        look(**kwargs)
"""


def test_callbacks_and_functions_of_another_file_are_followed(tmp_path: Path) -> None:
    (tmp_path / "keeps.py").write_text(KEEPS)
    (tmp_path / "job.py").write_text(USES)
    outcome = CliRunner().invoke(main, ["--verbose", str(tmp_path)])
    assert 'store(args.output_dir, tokenizer=kwargs["processing_class"], **kwargs)' in (tmp_path / "job.py").read_text()
    assert outcome.stdout.count("RM725 manual") == 1
    assert "look() in" in outcome.stdout and "Read processing_class there." in outcome.stdout
