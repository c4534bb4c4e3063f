"""RM203: an Accelerator in a training function whose model prepare_model() of Ray wraps."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome, converted

SCRIPT = """
import ray.train.torch
from accelerate import Accelerator
from ray import train
from ray.air.config import ScalingConfig
from ray.train.torch import TorchTrainer, prepare_model

from job import make, rows


def wrapped(model):
    return {prepared}


def loop(config):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(make(), rows())
    model = wrapped(model)
    for batch in loader:
        accelerator.backward(model(batch))


TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2, use_gpu={gpu}))
"""
PREPARED = [
    "prepare_model(model)",
    "train.torch.prepare_model(model, move_to_device=False)",
    "ray.train.torch.prepare_model(model=model, parallel_strategy='ddp')",
]


def outcome(prepared: str, gpu: object, from_ray: str = "") -> Outcome:
    return converted(SCRIPT.format(prepared=prepared, gpu=gpu), from_ray=from_ray)


@pytest.mark.parametrize("prepared", PREPARED)
def test_on_cpu_workers_it_stays_the_one_process_that_it_was(prepared: str) -> None:
    found = outcome(prepared, gpu=False, from_ray="2.3")
    assert "    accelerator = Accelerator()\n" in found.text
    assert found.lines("RM203", Kind.NOTE) == [15]


@pytest.mark.parametrize(("gpu", "from_ray"), [(True, "2.3"), ("rows()", "2.2"), (False, ""), (True, "")])
@pytest.mark.parametrize("prepared", PREPARED)
def test_where_it_joins_the_workers_or_may_have_done_so_it_is_told(prepared: str, gpu: object, from_ray: str) -> None:
    found = outcome(prepared, gpu, from_ray)
    assert "    accelerator = Accelerator()\n" in found.text
    assert found.lines("RM203", Kind.MANUAL) == [15]


@pytest.mark.parametrize(
    ("prepared", "from_ray"),
    [
        (PREPARED[0], "2.4"),
        (PREPARED[0], "2.6"),
        ("model", "2.3"),
        ("prepare_model(model, parallel_strategy=None)", "2.3"),
        ("prepare_model(model, wrap_ddp=False)", "2.2"),
        ("other.prepare_model(model)", "2.3"),
    ],
)
def test_elsewhere_it_joins_them_as_before(prepared: str, from_ray: str) -> None:
    found = outcome(prepared, gpu=False, from_ray=from_ray)
    assert "    accelerator = Accelerator(cpu=True)\n" in found.text
    assert not found.lines("RM203", Kind.MANUAL)
