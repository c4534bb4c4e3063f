"""RM604, RM607 and RM308: results that a method gets, that an annotation declares, or that an unseen trainer gives."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

TRAINER = "AccelerateTrainer(loop, scaling_config=ScalingConfig(num_workers=2))"
HEAD = """
from dataclasses import dataclass
from typing import Optional
from ray import air
from ray.air.config import ScalingConfig
from ray.train.huggingface import AccelerateTrainer
from job import loop

"""
READS = '{0}.metrics["time_total_s"], {0}.metrics_dataframe'
HEDGE = "Where a trainer gave the result, and not a Tuner: "


@pytest.mark.parametrize(
    ("decorator", "parameters", "call"),
    [
        ("@staticmethod", "result", "self._told(trainer.fit())"),
        ("@staticmethod", "result", "Job._told(trainer.fit())"),
        ("@classmethod", "cls, result", "self._told(trainer.fit())"),
        ("", "self, result", "self._told(trainer.fit())"),
        ("", "self, note, result=None", 'self._told("", result=trainer.fit())'),
        ("", "self, result", "Job()._told(trainer.fit())"),
    ],
)
def test_results_that_a_method_gets_are_followed(decorator: str, parameters: str, call: str) -> None:
    """What calls of a method give for its parameter is known, as for a function's."""
    body = f"class Job:\n    def run(self):\n        trainer = {TRAINER}\n        return {call}\n\n"
    body += f"    {decorator}\n    def _told({parameters}):\n        return {READS.format('result')}\n"
    found = converted(HEAD + body)
    assert len(found.lines("RM604", Kind.MANUAL)) == 2
    assert not any(HEDGE in message or "If this is" in message for message in found.messages)


def test_a_method_of_the_same_name_is_not_taken_for_it() -> None:
    """Another class has a method that is called alike."""
    body = "class Told:\n    def told(self, result):\n        return result.metrics_dataframe\n\nclass Other:\n"
    body += f"    def told(self, result):\n        return result\n\nOther().told({TRAINER}.fit())\n"
    assert not converted(HEAD + body).lines("RM604", Kind.MANUAL)


@pytest.mark.parametrize(
    ("reader", "result"),
    [
        ("def told(result: air.Result):\n    return {}\n", "result"),
        ("def told(result: Optional[air.Result] = None):\n    return {}\n", "result"),
        ('def told(result: "air.Result"):\n    return {}\n', "result"),
        ("@dataclass\nclass Done:\n    result: air.Result\n\n    def told(self):\n        return {}\n", "self.result"),
    ],
)
def test_an_annotation_tells_of_a_result(reader: str, result: str) -> None:
    """Nobody is seen to call it; a Tuner's results are of the same class, so the message says for which it holds."""
    found = converted(HEAD + f"trainer = {TRAINER}\n\n" + reader.format(READS.format(result)))
    told = [message for message in found.messages if "result.metrics" in message]
    assert len(told) == 2 and all(HEDGE in message for message in told)


def test_an_annotation_of_a_tuner_alone_tells_nothing() -> None:
    """The results of ray.tune have all of it."""
    body = f"from ray import tune\n\ndef told(result: tune.Result):\n    return {READS.format('result')}\n"
    assert not converted(HEAD + f"trainer = {TRAINER}\n\n" + body).lines("RM604", Kind.MANUAL)


UNSEEN = "from jobs import make\n\ntrainer = {trainer}\nresult = make('own').trainer(epochs=3).fit()\nprint({read})\n"


@pytest.mark.parametrize(
    ("read", "code"),
    [
        ('result.checkpoint.to_uri("s3://bucket")', "RM308"),
        ("result.checkpoint.to_bytes()", "RM308"),
        ("result.checkpoint.uri", "RM607"),
        ("result.metrics_dataframe", "RM604"),
        ("result.dataset_stats", "RM604"),
    ],
)
def test_what_an_unseen_trainer_gives_may_be_a_result(read: str, code: str) -> None:
    """An object that nobody sees being made has a fit() without arguments, in a legacy job."""
    found = converted(HEAD + UNSEEN.format(trainer=TRAINER, read=read))
    assert len(found.lines(code, Kind.MANUAL)) == 1
    assert any(message.startswith("If this is") for message in found.messages)
