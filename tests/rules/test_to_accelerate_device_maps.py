"""--to-accelerate: a model that is spread over several GPUs, which several processes cannot train."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted
from tests.rules.test_to_accelerate import HEAD, LOOP

IMPORTS = """from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
"""
AUTO = 'AutoModelForCausalLM.from_pretrained("gpt2", device_map="auto")'
MODEL = "model = nn.Linear(4, 2).to(device)\n"


def told(made: str, behind: str = "") -> list[str]:
    found = converted(IMPORTS + HEAD.replace(MODEL, made) + LOOP + behind, to_accelerate=True)
    assert "accelerator.backward(loss)" in found.text
    messages = [message for message in found.messages if message.startswith("device_map=")]
    assert len(found.lines("RM858", Kind.MANUAL)) == len(messages)
    return messages


@pytest.mark.parametrize(
    "made",
    [
        f"model = {AUTO}\n",
        f"model = {AUTO.replace('auto', 'balanced')}\n",
        f"model = {AUTO.replace('from_pretrained', 'from_config')}\n",
        f"model = get_peft_model({AUTO}, LoraConfig())\n",
        f"model = {AUTO}\nmodel = get_peft_model(model, LoraConfig())\n",
        f"def load():\n    return {AUTO}\n\n\nmodel = load()\n",
        f'PLACES = "auto"\nmodel = {AUTO.replace(chr(34) + "auto" + chr(34), "PLACES")}\n',
    ],
)
def test_a_trained_model_that_is_spread_is_told(made: str) -> None:
    [message] = told(made)
    assert "spreads the model over all GPUs that a process sees" in message


@pytest.mark.parametrize(
    ("made", "behind"),
    [
        (f"model = {AUTO.replace(', device_map=' + chr(34) + 'auto' + chr(34), '')}\n", ""),
        (f"model = {AUTO.replace('auto', 'cuda')}\n", ""),
        (f"teacher = {AUTO}\nmodel = nn.Linear(4, 2)\n", ""),
        (MODEL, f"model = {AUTO}\nprint(model)\n"),
        (MODEL, f"judge = {AUTO}\nprint(judge)\n"),
    ],
)
def test_other_models_are_not(made: str, behind: str) -> None:
    assert not told(made, behind)


def test_on_ray_it_is_told_once() -> None:
    text = IMPORTS + HEAD.replace(MODEL, f"model = {AUTO}\n") + LOOP
    found = converted(text, to_accelerate=True, to_ray=True, workers=2, gpu=True)
    [message] = [message for message in found.messages if message.startswith("device_map=")]
    assert "accelerate refuses that on several workers." in message
