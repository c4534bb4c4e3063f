"""RM851, --to-accelerate: loops in which no optimizer of PyTorch takes the steps are left, and told."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

ENGINE = """import torch
{start}
from job import loader, model, optimizer

{made}
for x, y in loader:
    loss = torch.nn.functional.cross_entropy({model}(x), y)
    {steps}
"""
INITIALIZE = "engine, *_ = {call}(model=model, model_parameters=model.parameters())"


@pytest.mark.parametrize(
    ("start", "made", "steps", "what"),
    [
        ("import deepspeed", INITIALIZE.format(call="deepspeed.initialize"), "engine.backward(loss)", "DeepSpeed"),
        (
            "from deepspeed import initialize",
            INITIALIZE.format(call="initialize"),
            "engine.backward(loss)",
            "DeepSpeed",
        ),
        (
            "import torch_xla.core.xla_model as xm",
            "",
            "loss.backward()\n    xm.optimizer_step(optimizer)",
            "trains on TPUs through torch_xla",
        ),
    ],
)
def test_a_loop_with_an_engine_is_told(start: str, made: str, steps: str, what: str) -> None:
    script = ENGINE.format(start=start, made=made, model="engine" if made else "model", steps=steps)
    outcome = converted(script, to_accelerate=True)
    assert outcome.text == script
    assert outcome.lines("RM851", Kind.MANUAL) == [2]
    assert what in outcome.messages[0]


@pytest.mark.parametrize(
    ("start", "made", "steps"),
    [
        ("import deepspeed", INITIALIZE.format(call="deepspeed.initialize"), "print(loss)"),  # nothing trains
        ("import deepspeed", "engine = model", "loss.backward()"),
        ("from mine import initialize", INITIALIZE.format(call="initialize"), "engine.backward(loss)"),
    ],
)
def test_what_no_engine_trains_is_not(start: str, made: str, steps: str) -> None:
    outcome = converted(ENGINE.format(start=start, made=made, model="model", steps=steps), to_accelerate=True)
    assert not outcome.findings
