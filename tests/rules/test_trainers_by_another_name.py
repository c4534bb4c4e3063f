"""RM701 where a class made from Trainer is called by another name than its own, and gets a tokenizer."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import ray.train
from transformers import Seq2SeqTrainer, Trainer, TrainingArguments


class Own(Trainer):
    {init}


class Other:
    def __init__(self, **kwargs):
        self.words = kwargs["tokenizer"]


ALIAS = Own
TABLE = {{"own": Own, "theirs": Seq2SeqTrainer}}


class Job:
    trainer_class = Own
    mixed = {{"own": Own, "other": Other}}

    def get(self):
        return self.trainer_class

    @classmethod
    def of_class(cls, m, words, key):
        return cls.trainer_class(model=m, tokenizer=words)

    def of_object(self, m, words, key):
        local = Own
        return {called}(model=m, tokenizer=words)
"""
BY_NAME = {
    "alias": "ALIAS",
    "local": "local",
    "table": "TABLE[key]",
    "got": "TABLE.get(key)",
    "attribute": "self.trainer_class",
    "method": "self.get()",
}
NEW = "{}(model=m, processing_class=words)"


@pytest.mark.parametrize("called", BY_NAME.values(), ids=BY_NAME)
def test_the_argument_is_renamed(called: str) -> None:
    text = converted(SCRIPT.format(init="pass", called=called)).text
    assert NEW.format(called) in text and NEW.format("cls.trainer_class") in text


@pytest.mark.parametrize("called", BY_NAME.values(), ids=BY_NAME)
def test_it_stays_where_the_class_takes_it_itself(called: str) -> None:
    init = "def __init__(self, tokenizer=None, **kwargs):\n        super().__init__(**kwargs)"
    outcome = converted(SCRIPT.format(init=init, called=called))
    assert NEW.format(called) not in outcome.text and NEW.format("cls.trainer_class") not in outcome.text
    assert len(outcome.lines("RM701", Kind.MANUAL)) == ("TABLE" in called)  # another class of that does not


def test_it_is_told_where_only_some_of_the_classes_are_trainers() -> None:
    outcome = converted(SCRIPT.format(init="pass", called="self.mixed[key]"))
    assert "self.mixed[key](model=m, tokenizer=words)" in outcome.text
    assert len(outcome.lines("RM701", Kind.MANUAL)) == 1


def test_what_is_no_trainer_keeps_it() -> None:
    outcome = converted(SCRIPT.format(init="pass", called="Other"))
    assert "Other(model=m, tokenizer=words)" in outcome.text and not outcome.lines("RM701", Kind.MANUAL)
