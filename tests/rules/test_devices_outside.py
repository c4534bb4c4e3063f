"""RM302: ray.train.torch.get_device() where no trainer runs."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import torch
from ray import train, tune
from ray.air.config import ScalingConfig
from ray.train import torch as ray_torch
from ray.train.torch import TorchTrainer, get_device, get_devices

def batch(rows):
    {body}

def loop(config):
    batch(1)

def trial(config):
    {trial}

def main():
    {main}
    tune.Tuner(trial).fit()
    TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=1)).fit()

if __name__ == "__main__":
    main()
"""
ASKED = ["get_device()", "get_devices()[0]", "train.torch.get_device()", "ray_torch.get_device()"]


def told(body: str = "pass", main: str = "pass", trial: str = "pass") -> list[int]:
    return converted(SCRIPT.format(body=body, main=main, trial=trial)).lines("RM302", Kind.MANUAL)


@pytest.mark.parametrize("asked", ASKED)
def test_a_function_that_both_run_is_told_once(asked: str) -> None:
    body = f"print({asked})\n    return rows.to({asked})"
    assert told(body) == []
    assert told(body, main="batch(2)") == [7]
    assert told(body, trial="batch(2)") == [8, 9]
    assert told(f"return lambda: {asked}", main="batch(2)") == []


@pytest.mark.parametrize("asked", ASKED)
def test_what_the_driver_or_a_trial_runs_is_told_at_the_call(asked: str) -> None:
    assert told(main=f"model.to({asked})") == [17]
    assert told(trial=f"model.to({asked})") == [14]


@pytest.mark.parametrize(
    "body",
    [
        "device = get_device() if distributed else 'cpu'",
        "if distributed:\n        return get_device()\n    else:\n        return 'cpu'",
        "try:\n        return get_device()\n    except RuntimeError:\n        return 'cpu'",
        "return torch.get_device(rows)",
    ],
)
def test_functions_with_another_way_stay(body: str) -> None:
    assert told(body, main="batch(2)") == []


def test_the_second_run_says_the_same() -> None:
    first = converted(SCRIPT.format(body="return get_device()", main="batch(2)", trial="pass"))
    second = converted(first.text)
    assert [text for text in second.messages if "RuntimeError" in text] == [
        text for text in first.messages if "RuntimeError" in text
    ]
