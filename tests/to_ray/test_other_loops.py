"""RM802: loops of DeepSpeed and torch_xla, and those beside helpers of accelerate, are not passed over in silence."""

import pytest

from tests.to_ray.test_not_moved import LOOP, SGD, told


@pytest.mark.parametrize(
    "helper",
    [
        "from accelerate.data_loader import skip_first_batches",
        "from accelerate import init_empty_weights",
        "import accelerate.utils\n\naccelerate.utils.set_seed(1)",
    ],
)
def test_a_native_loop_beside_a_helper_of_accelerate_is_told(helper: str) -> None:
    script = LOOP.format(made=SGD, optimizer="optimizer", back="(loss / 2).backward()")
    [message] = told(f"{helper}\n{script}")
    assert message.startswith("A native PyTorch loop")


OTHER_LOOP = """\
import torch
{imported}

model = torch.nn.Linear(2, 1)
{made}
for batch in load():
    loss = model(batch).sum()
    {step}
"""
ENGINE = "{call}(model=model, config=config)"
TPU = "loss.backward()\n    {call}(optimizer)"


@pytest.mark.parametrize(
    ("imported", "made", "step", "by"),
    [
        (
            "import deepspeed",
            f"engine, *_ = {ENGINE.format(call='deepspeed.initialize')}",
            "engine.backward(loss)\n    engine.step()",
            "an engine of DeepSpeed",
        ),
        (
            "from deepspeed import initialize as start",
            f"net = {ENGINE.format(call='start')}[0]",
            "net.backward(loss)\n    net.step()",
            "an engine of DeepSpeed",
        ),
        ("import torch_xla.core.xla_model as xm", SGD, TPU.format(call="xm.optimizer_step"), "torch_xla"),
        ("from torch_xla.core import xla_model", SGD, TPU.format(call="xla_model.optimizer_step"), "torch_xla"),
    ],
)
def test_a_loop_that_something_else_steps_is_told(imported: str, made: str, step: str, by: str) -> None:
    [message] = told(OTHER_LOOP.format(imported=imported, made=made, step=step))
    assert message.startswith(f"A loop that trains with {by}:")


@pytest.mark.parametrize(
    ("imported", "made", "step"),
    [
        ("import deepspeed", "engine = deepspeed.init_inference(model)", "engine(batch)"),
        ("import deepspeed", "engine, *_ = deepspeed.initialize(model=model)", "engine(batch)"),
        ("import torch_xla.core.xla_model as xm", SGD, "xm.mark_step()"),
        ("import own as deepspeed", "engine = deepspeed.initialize(model)", "engine.backward(loss)"),
    ],
)
def test_what_only_computes_with_such_a_library_is_no_loop(imported: str, made: str, step: str) -> None:
    assert told(OTHER_LOOP.format(imported=imported, made=made, step=step)) == []
