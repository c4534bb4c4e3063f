"""RM303 and RM310: models in DistributedDataParallel, which legacy TorchTrainers took off what was reported."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome, converted

SCRIPT = """
import torch
from accelerate import Accelerator
from ray import train, tune
from ray.air import Checkpoint, session
from ray.air.config import ScalingConfig
from ray.train.torch import TorchCheckpoint, TorchTrainer, prepare_model
from torch.nn.parallel import DistributedDataParallel as DDP


def train_loop(config):
    plain = torch.nn.Linear(2, 1)
    {model}
{body}
    session.report({{"loss": 1}}, checkpoint={checkpoint})


{run}
"""
TRAINER = "TorchTrainer(train_loop, scaling_config=ScalingConfig(num_workers=2)).fit()"
ITSELF = 'getattr(model, "module", model)'


def outcome(checkpoint: str, model: str = "model = prepare_model(plain)", *body: str, run: str = TRAINER) -> Outcome:
    """What becomes of a script that reports a checkpoint."""
    lines = "\n".join(f"    {line}" for line in body)
    return converted(SCRIPT.format(checkpoint=checkpoint, model=model, body=lines, run=run))


@pytest.mark.parametrize(
    ("checkpoint", "model", "body", "expected"),
    [
        ('Checkpoint.from_dict({"model": model.state_dict()})', None, [], f'"model": {ITSELF}.state_dict()'),
        ("Checkpoint.from_dict(dict(model=model.state_dict()))", None, [], f"model={ITSELF}.state_dict()"),
        ('Checkpoint.from_dict({"model": model})', None, [], f'"model": {ITSELF}'),
        (
            'Checkpoint.from_dict({"model": state})',
            None,
            ["state = model.state_dict()"],
            f"state = {ITSELF}.state_dict()",
        ),
        (
            "Checkpoint.from_dict(data)",
            None,
            ["data = {'model': model.state_dict()}"],
            f"'model': {ITSELF}.state_dict()",
        ),
        ('Checkpoint.from_dict({"model": model})', "model = DDP(plain)", [], f'"model": {ITSELF}'),
        (
            'Checkpoint.from_dict({"model": model})',
            "model = train.torch.prepare_model(plain)",
            [],
            f'"model": {ITSELF}',
        ),
        ('Checkpoint.from_dict({"model": model})', "model = DDP(plain) if config else plain", [], f'"model": {ITSELF}'),
        ("TorchCheckpoint.from_model(model)", None, [], f"TorchCheckpoint.from_model({ITSELF})"),
    ],
)
def test_the_wrapper_is_taken_off(checkpoint: str, model: str | None, body: list[str], expected: str) -> None:
    made = outcome(checkpoint, model or "model = prepare_model(plain)", *body)
    assert expected in made.text
    assert made.text.count(ITSELF) == 1
    assert converted(made.text).text == made.text


@pytest.mark.parametrize(
    ("checkpoint", "model"),
    [
        ('Checkpoint.from_dict({"model": model.module.state_dict()})', "model = prepare_model(plain)"),
        (
            'Checkpoint.from_dict({"m": model.module.state_dict() if config else model.state_dict()})',
            "model = prepare_model(plain)",
        ),
        ('Checkpoint.from_dict({"model": plain.state_dict(), "epoch": 1})', "model = prepare_model(plain)"),
        (
            'Checkpoint.from_dict({"model": model.state_dict()})',
            'model = prepare_model(plain, parallel_strategy="fsdp")',
        ),
        (
            'Checkpoint.from_dict({"model": model.state_dict()})',
            "wrapped = prepare_model(plain)\n    model = wrapped.module if hasattr(wrapped, 'module') else wrapped",
        ),
        (
            'Checkpoint.from_dict({"model": model})',
            "model = prepare_model(plain)\n    if config['workers'] > 1:\n        model = model.module",
        ),
        ("TorchCheckpoint.from_state_dict(model.state_dict())", "model = prepare_model(plain)"),
        ("TorchCheckpoint.from_model(plain)", "model = prepare_model(plain)"),
        ('Checkpoint.from_dict({"model": model.state_dict()})', "model = torch.compile(plain)"),
    ],
)
def test_other_models_stay_as_they_are(checkpoint: str, model: str) -> None:
    made = outcome(checkpoint, model)
    assert ITSELF not in made.text
    assert not any("Legacy Ray took" in message for message in made.messages)


@pytest.mark.parametrize(
    ("model", "body", "said"),
    [
        ("model = prepare_model(plain)", ["state = model.state_dict()", "print(state)"], f"{ITSELF}.state_dict()"),
        (
            "model = Accelerator().prepare(plain)",
            ["state = model.state_dict()"],
            "accelerator.unwrap_model(model).state_dict()",
        ),
    ],
)
def test_what_is_used_elsewhere_too_is_told(model: str, body: list[str], said: str) -> None:
    made = outcome('Checkpoint.from_dict({"model": state})', model, *body)
    assert len(made.lines("RM303", Kind.MANUAL)) == 1
    assert any(message.endswith(f"{said}.") for message in made.messages)


@pytest.mark.parametrize("step", ["optimizer.step()", "optimizer.zero_grad()"])
def test_what_takes_steps_is_no_model(step: str) -> None:
    prepared = "model, optimizer = Accelerator().prepare(plain, torch.optim.SGD(plain.parameters(), lr=1))"
    made = outcome('Checkpoint.from_dict({"optimizer": optimizer.state_dict()})', prepared, step)
    assert len(made.lines("RM303", Kind.MANUAL)) == (step != "optimizer.step()")


def test_tune_functions_and_ray_22_kept_the_names() -> None:
    checkpoint = 'Checkpoint.from_dict({"model": model.state_dict()})'
    assert ITSELF not in outcome(checkpoint, run="tune.Tuner(train_loop).fit()").text
    script = SCRIPT.format(checkpoint=checkpoint, model="model = prepare_model(plain)", body="", run=TRAINER)
    assert ITSELF not in converted(script, from_ray="2.2").text
    assert ITSELF in converted(script, from_ray="2.3").text


CONSUME = "from torch.nn.modules.utils import consume_prefix_in_state_dict_if_present as consume"


@pytest.mark.parametrize(
    ("taken_off", "told"),
    [
        ('consume(state, "module.")', False),
        ('torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state_dict=state, prefix="module.")', False),
        ('consume(state, "model.")', True),
        ('consume(other, "module.")', True),
        ("print(state)", True),
    ],
)
def test_names_that_the_script_takes_off_itself_are_left(taken_off: str, told: bool) -> None:
    body = (CONSUME, "other = {}", "state = model.state_dict()", taken_off)
    found = outcome('Checkpoint.from_dict({"model": state})', "model = prepare_model(plain)", *body)
    assert any("took" in message and "off the names" in message for message in found.messages) is told
    assert told or ITSELF not in found.text
