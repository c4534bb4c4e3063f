"""RM731: versions that scripts pin themselves."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

FLOW = """
import ray
from metaflow import FlowSpec, conda, pip, pypi, step
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from job import build, rows

{before}


class Flow(FlowSpec):
    @{decorator}
    @step
    def start(self):
        gpus = ScalingConfig(num_workers=2, use_gpu=True)
        TransformersTrainer(build, scaling_config=gpus, datasets={{"train": rows}}).fit()
"""
OLD = '{"transformers": "4.30.2", "ray[air]": "2.6.3", "accelerate": "0.20.3", "pandas": "1.5.3"}'


@pytest.mark.parametrize(
    ("decorator", "before", "pins"),
    [
        (f"pypi(packages={OLD})", "", 3),
        (f'pypi(python="3.9", packages={OLD})', "", 4),
        (f"conda(libraries={OLD})", "", 3),
        (f"pip(libraries={OLD})", "", 3),
        ('conda(libraries={"conda-forge::deepspeed": "0.9.2", "nvidia::torch": "1.13", "own::numpy": "1"})', "", 2),
        ("pypi(packages=PINS)", f"PINS = {OLD}", 3),
        ('pypi(packages={"torch": "==1.13.1", "datasets": "<2.10", "ray": ">=2.60"})', "", 2),
    ],
)
def test_versions_by_package_are_told_and_raised(decorator: str, before: str, pins: int) -> None:
    script = FLOW.format(decorator=decorator, before=before)
    assert len(converted(script).lines("RM731", Kind.UNSAFE)) == pins
    after = converted(script, unsafe=True).text
    assert '"4.30.2"' not in after and '"2.6.3"' not in after
    assert '"pandas": "1.5.3"' in after or "pandas" not in script


def test_versions_that_are_new_enough_are_no_news() -> None:
    decorator = 'pypi(python="3.11", packages={"transformers": "5.2.0", "ray": ">=2.51", "accelerate": "latest"})'
    assert not converted(FLOW.format(decorator=decorator, before="")).lines("RM731", Kind.UNSAFE)


@pytest.mark.parametrize(
    ("packages", "lacks"),
    [
        ('["datasets", "scikit-learn"]', True),
        ('{"packages": ["datasets==2.17.0"]}', True),
        ('["datasets", "evaluate"]', False),
        ('["scikit-learn"]', False),
    ],
)
def test_metrics_of_a_script_that_is_not_legacy_otherwise_need_evaluate(packages: str, *, lacks: bool) -> None:
    script = (
        f'import ray\nfrom datasets import load_metric\nray.init(runtime_env={{"pip": {packages}}})\n'
        'print(load_metric("accuracy"))\n'
    )
    assert bool(converted(script).lines("RM732", Kind.MANUAL)) is lacks


@pytest.mark.parametrize(
    ("listed", "told"), [("pyarrow<7.0.0", 1), ("pyarrow==6.0.1", 1), ("pyarrow>=7", 0), ("pyarrow<20", 0)]
)
def test_a_pyarrow_that_current_libraries_refuse_is_told(listed: str, told: int) -> None:
    before = f'ray.init(runtime_env={{"pip": ["accelerate", "transformers", "{listed}"]}})'
    outcome = converted(FLOW.format(decorator="pypi(packages={})", before=before))
    assert len(outcome.lines("RM731", Kind.UNSAFE)) == told
