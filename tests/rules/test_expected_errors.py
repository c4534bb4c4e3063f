"""RM428: tests that expect the constructor of a legacy trainer to raise."""

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
