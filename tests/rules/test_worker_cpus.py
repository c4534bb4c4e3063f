"""RM306: the CPUs of a worker, read from the resources of its trial."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import os
from ray.air import ScalingConfig, session
from ray.train.torch import TorchTrainer


def train_loop():
{read}


TorchTrainer(train_loop, scaling_config=ScalingConfig(num_workers=2)).fit()
"""
BUNDLE = "session.get_trial_resources().bundles[-1]"
CPUS = 'ray.get_runtime_context().get_assigned_resources().get("CPU", 1)'


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (f'    cpus = {BUNDLE}["CPU"]', f"cpus = int({CPUS})"),
        (f'    cpus = int({BUNDLE}.get("CPU", 1))', f"cpus = int({CPUS})"),
        (f'    key = "CPU"\n    cpus = {BUNDLE}[key]', f"cpus = int({CPUS})"),
        (f'    bundle = {BUNDLE}\n    cpus = bundle["CPU"]', 'cpus = int(bundle.get("CPU", 1))'),
    ],
)
def test_the_cpus_come_from_the_worker(read: str, expected: str) -> None:
    outcome = converted(SCRIPT.format(read=read))
    assert ("RM306", Kind.CONVERTED) in {(code, kind) for code, kind, _ in outcome.findings}
    assert expected in outcome.text
    assert "get_trial_resources" not in outcome.text


@pytest.mark.parametrize(
    "read",
    [
        f'    gpus = {BUNDLE}["GPU"]',
        '    cpus = session.get_trial_resources().bundles[0]["CPU"]',
        f'    bundle = {BUNDLE}\n    cpus, rest = bundle["CPU"], dict(bundle)',
        "    resources = session.get_trial_resources()",
    ],
)
def test_other_resources_of_a_trial_are_another_matter(read: str) -> None:
    outcome = converted(SCRIPT.format(read=read))
    assert "RM306" not in {code for code, _, _ in outcome.findings}
    assert "get_trial_resources" in outcome.text
