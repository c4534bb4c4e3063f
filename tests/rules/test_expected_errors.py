"""RM428: tests that expect a legacy trainer, or something else of legacy Ray, to raise or to warn."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import contextlib
import unittest

import pytest
from ray.air import ScalingConfig
from ray.train.huggingface import {name}
from job import start

scaling = ScalingConfig(num_workers=2, use_gpu=True)


"""
MADE = "{name}(start, scaling_config=scaling)"
EXPECTING = {
    "pytest": "def test_it():\n    with pytest.raises(ImportError):\n        {made}",
    "kept": "def test_it():\n    with pytest.raises(ValueError, match='train') as info:\n        trainer = {made}",
    "any": "def test_it():\n    with pytest.raises(Exception):\n        {made}",
    "with more": "def test_it(tmp):\n    with open(tmp), pytest.raises(TypeError):\n        print({made})",
    "unittest": "class T(unittest.TestCase):\n    def test_it(self):\n        with self.assertRaises(ValueError):\n"
    "            {made}",
    "by text": "class T(unittest.TestCase):\n    def test_it(self):\n"
    "        with self.assertRaisesRegex(ImportError, 'transformers'):\n            {made}",
}
OTHERS = {
    "suppressed": "with contextlib.suppress(ImportError):\n    {made}",
    "tried": "try:\n    trainer = {made}\nexcept ImportError:\n    trainer = None",
    "fitted": "def test_it():\n    with pytest.raises(ValueError):\n        {made}.fit()",
    "later": "def test_it():\n    with pytest.raises(ValueError):\n        def run():\n            {made}",
    "another": "def test_it():\n    trainer = {made}\n    with pytest.raises(ValueError):\n        trainer.check()",
}


@pytest.mark.parametrize("name", ["TransformersTrainer", "AccelerateTrainer"])
@pytest.mark.parametrize("block", EXPECTING.values(), ids=EXPECTING)
def test_an_error_that_is_expected_of_the_constructor_is_told(block: str, name: str) -> None:
    script = (HEAD + block).format(name=name, made=MADE.format(name=name))
    outcome = converted(script + "\n")
    (line,) = outcome.lines("RM428", Kind.MANUAL)
    assert "aises" in script.lstrip("\n").split("\n")[line - 1]
    assert f"{name}()" in " ".join(outcome.messages)


@pytest.mark.parametrize("block", OTHERS.values(), ids=OTHERS)
def test_what_goes_on_after_the_error_is_no_news(block: str) -> None:
    outcome = converted((HEAD + block).format(name="AccelerateTrainer", made=MADE.format(name="AccelerateTrainer")))
    assert not outcome.lines("RM428", Kind.MANUAL)


WARNING = {
    "pytest": "def test_it():\n    with pytest.warns(DeprecationWarning):\n        trainer = {made}",
    "matched": "def test_it():\n    with pytest.warns(DeprecationWarning, match='renamed') as record:\n        {made}",
    "deprecated": "def test_it():\n    with pytest.deprecated_call():\n        {made}",
    "unittest": "class T(unittest.TestCase):\n    def test_it(self):\n"
    "        with self.assertWarns(DeprecationWarning):\n            {made}",
    "among others": "def test_it(tmp):\n    with open(tmp), pytest.warns(UserWarning):\n        print({made})",
}


@pytest.mark.parametrize("block", WARNING.values(), ids=WARNING)
def test_a_warning_that_is_expected_is_told(block: str) -> None:
    made = MADE.format(name="TransformersTrainer")
    outcome = converted((HEAD + block).format(name="TransformersTrainer", made=made))
    assert outcome.lines("RM428", Kind.MANUAL)
    assert "TorchTrainer gives none of these" in " ".join(outcome.messages)


FITTED = """
import pytest
from ray.air import ScalingConfig
from ray.train import TrainingFailedError
from ray.train.huggingface import {name}
from job import start

"""
FITTING = {
    "at once": "def test_it():\n    with pytest.raises(ValueError):\n        {made}.fit()",
    "its new error": "def test_it():\n    trainer = {made}\n    with pytest.raises(TrainingFailedError) as info:\n"
    "        trainer.fit()",
    "in a helper": "def check(trainer):\n    with pytest.raises(Exception):\n        trainer.fit()\n\n\n"
    "def test_it():\n    check({made})\n",
}


@pytest.mark.parametrize(("name", "told"), [("TransformersTrainer", 1), ("AccelerateTrainer", 0)])
@pytest.mark.parametrize("block", FITTING.values(), ids=FITTING)
def test_what_the_legacy_trainer_checked_on_its_workers_is_told(block: str, name: str, told: int) -> None:
    made = f"{name}(start, scaling_config=ScalingConfig(num_workers=2, use_gpu=True))"
    outcome = converted((FITTED + block).format(name=name, made=made))
    assert len(outcome.lines("RM428", Kind.MANUAL)) == told


@pytest.mark.parametrize(
    ("statement", "told"), [("import ray.train.huggingface", 1), ("import ray.train.huggingface.accelerate", 0)]
)
def test_a_package_that_is_empty_today_can_always_be_imported(statement: str, told: int) -> None:
    head = "import pytest\nfrom ray.air import ScalingConfig\nprint(ScalingConfig)\n"
    outcome = converted(f"{head}with pytest.raises(ImportError, match='torch'):\n    {statement}\n")
    assert len(outcome.lines("RM428", Kind.MANUAL)) == told


@pytest.mark.parametrize(
    "test", ["isinstance(made, {name})", "isinstance(made, (dict, {name}))", "issubclass(C, {name})"]
)
@pytest.mark.parametrize("name", ["TransformersTrainer", "AccelerateTrainer"])
def test_a_class_that_is_asked_for_is_the_one_that_is_made_now(test: str, name: str) -> None:
    script = f"{HEAD}made = {MADE}\nassert {test}\n".format(name=name)
    outcome = converted(script)
    assert f"assert {test}".format(name="TorchTrainer") in outcome.text


OTHERS_OF_RAY = """
import unittest

import own
import pytest
from ray.air import Checkpoint, session
from ray.train.batch_predictor import BatchPredictor
from ray.train.huggingface import HuggingFaceCheckpoint, HuggingFacePredictor


def test_it(self, tmp):
    {before}
    with {head}:
        {call}
"""


@pytest.mark.parametrize(
    ("head", "call"),
    [
        ("pytest.warns(DeprecationWarning)", 'obj = HuggingFaceCheckpoint.from_dict({"foo": "bar"})'),
        ("pytest.warns((FutureWarning, DeprecationWarning), match='renamed') as record", "HuggingFacePredictor()"),
        ("pytest.deprecated_call()", "print(HuggingFacePredictor())"),
        ("open(tmp), self.assertWarns(DeprecationWarning)", "HuggingFacePredictor.from_checkpoint(1)"),
        ("pytest.raises(ImportError, match='transformers')", "HuggingFaceCheckpoint.from_model(None)"),
        ("pytest.raises(Exception)", "HuggingFacePredictor.from_checkpoint(None)"),
        ("self.assertRaises(ValueError)", "Checkpoint.from_dict(1)"),
        ("self.assertRaisesRegex(ValueError, 'rows')", "predictor.predict(1)"),
        ("pytest.warns(UserWarning)", "session.report({})"),
        ("pytest.warns()", "assert session.get_world_size() == 1"),
    ],
)
def test_what_a_test_expects_of_other_names_of_legacy_ray_is_told(head: str, call: str) -> None:
    before = "predictor = BatchPredictor(None, None)"
    script = OTHERS_OF_RAY.format(before=before, head=head, call=call)
    assert converted(script).lines("RM428", Kind.MANUAL) == [script.count("\n") - 2]


@pytest.mark.parametrize(
    ("head", "call"),
    [
        ("pytest.raises(RuntimeError)", "session.report({})"),
        ("pytest.raises(AttributeError)", "Checkpoint.from_dict({})"),
        ("pytest.warns(UserWarning)", "own.predict(HuggingFacePredictor())"),
        ("pytest.raises(ValueError)", "own.check()"),
        ("pytest.raises(ValueError)", "Checkpoint.from_directory('a')"),
        ("open(tmp)", "HuggingFacePredictor()"),
        ("pytest.raises(ImportError)", "from ray.train.huggingface import TransformersPredictor as T; T(None)"),
        ("pytest.raises(ValueError)", "own.HuggingFacePredictor()"),
        ("pytest.raises(ValueError)", "run = lambda: HuggingFacePredictor()"),
    ],
)
def test_what_still_comes_or_comes_from_elsewhere_is_not(head: str, call: str) -> None:
    script = OTHERS_OF_RAY.format(before="", head=head, call=call)
    assert not converted(script).lines("RM428", Kind.MANUAL)


def test_what_is_expected_around_session_says_what_comes_today() -> None:
    script = OTHERS_OF_RAY.format(before="", head="pytest.warns(UserWarning)", call="session.report({})")
    assert "raises a RuntimeError" in " ".join(converted(script).messages)


OF_GONE = """
import pytest
from ray.train import TrainingFailedError
from ray.train.lightning import LightningTrainer
from ray.train.rl import RLTrainer


def test_it():
    trainer = {trainer}
    with pytest.raises(TrainingFailedError):
        {call}
"""


@pytest.mark.parametrize(
    ("trainer", "call", "told"),
    [
        ("RLTrainer('PPO')", "result = trainer.fit()", 1),
        ("RLTrainer.restore('/runs')", "trainer.fit()", 1),
        ("None", "RLTrainer('PPO').fit()", 1),
        ("LightningTrainer(1)", "trainer.fit()", 0),
        ("None", "LightningTrainer(1).fit()", 0),
    ],
)
def test_a_tuner_does_not_raise_what_a_trainer_did(trainer: str, call: str, told: int) -> None:
    outcome = converted(OF_GONE.format(trainer=trainer, call=call))
    assert outcome.lines("RM428", Kind.MANUAL) == [9] * told
    assert ("tuner.fit()[0].error" in " ".join(outcome.messages)) is bool(told)


@pytest.mark.parametrize(
    ("name", "code"),
    [("AccelerateTrainer", "RM209"), ("TransformersTrainer", "RM911"), ("HuggingFaceTrainer", "RM911")],
)
@pytest.mark.parametrize("given", ["None", "DUMMY"])
def test_a_trainer_of_nothing_goes_with_the_test_that_waits_for_its_error(name: str, code: str, given: str) -> None:
    """No function is to be written for it; else one is."""
    head = HEAD.replace("\n\n\n", "\n\nDUMMY = None\n\n\n").format(name=name)
    waits = converted(head + EXPECTING["pytest"].format(made=f"{name}({given})"))
    alone = converted(head + f"{name}({given})\n")
    assert len(waits.lines(code, Kind.MANUAL)) == len(alone.lines(code, Kind.MANUAL)) == 1
    taken_out = "Ray refused it. A test waits for this: take it out with the block around it."
    assert any(taken_out in message for message in waits.messages)
    assert not any("run raymigrate again" in message for message in waits.messages if "Ray refused it" in message)
    assert any("run raymigrate again" in message for message in alone.messages if "Ray refused it" in message)
