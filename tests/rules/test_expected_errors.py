"""RM428: tests that expect a legacy trainer to raise or to warn."""

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
