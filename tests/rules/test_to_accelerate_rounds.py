"""RM858: a training that runs several times with one Accelerator, which keeps each model."""

from textwrap import indent

import pytest

from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated

IMPORTS, DEVICE, REST = HEAD.partition("device = ")
SETUP, MODEL = REST.partition("model = ")[0], "model = " + REST.partition("model = ")[2]
BEFORE = f"{IMPORTS}{DEVICE}{SETUP}"
KEPT = "prepares another model here, and the Accelerator keeps those before it"


def told(script: str) -> list[str]:
    outcome = accelerated(script, head="")
    assert "Accelerator()" in outcome.text
    return [message for message in outcome.messages if KEPT in message]


@pytest.mark.parametrize("loop", ["for fold in range(5):", "while ask():"])
def test_models_that_each_round_prepares_are_told(loop: str) -> None:
    train = indent(MODEL + LOOP, "    ")
    [message] = told(f"{BEFORE}def train(loader):\n{train}\n{loop}\n    train(loader)\n")
    assert f"Each round of the loop in line {message.partition('line ')[2].split()[0]} prepares" in message
    assert told(f"{BEFORE}{loop}\n{train}")


def test_one_training_or_an_accelerator_in_each_round_is_not() -> None:
    train = indent(MODEL + LOOP, "    ")
    assert not told(f"{BEFORE}def train(loader):\n{train}\ntrain(loader)\n")
    whole = indent(f"{DEVICE}{SETUP}{MODEL}{LOOP}", "    ")
    assert not told(f"{IMPORTS}def train():\n{whole}\nfor fold in range(5):\n    train()\n")
