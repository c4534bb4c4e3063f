"""RM401, RM402 and others: nothing is told of code that current Ray never comes to."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import ray
from packaging import version
from ray.air.config import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer
from ray.tune import SyncConfig

RAY = version.parse(ray.__version__)
IS_OLD = RAY < version.parse("2.5")


def storage(uri):
{body}


TorchTrainer(print, scaling_config=ScalingConfig(num_workers=2), run_config=RunConfig(**storage("s3://runs")))
"""
OLD, NEW = 'return {"sync_config": SyncConfig(upload_dir=uri)}', 'return {"storage_path": uri}'


def told(body: str) -> list[int]:
    text = "\n".join(f"    {line}" for line in body.splitlines())
    return converted(SCRIPT.replace("{body}", text)).lines("RM401", Kind.MANUAL)


@pytest.mark.parametrize(
    "body",
    [
        f'if RAY < version.parse("2.5"):\n    {OLD}\n{NEW}',
        f'if RAY >= version.parse("2.5"):\n    {NEW}\nelse:\n    {OLD}',
        f'if RAY >= version.parse("2.5"):\n    {NEW}\n{OLD}',
        f"if not IS_OLD:\n    {NEW}\n{OLD}",
        f"if IS_OLD and uri:\n    {OLD}\n{NEW}",
        f"if not IS_OLD or uri is None:\n    {NEW}\n{OLD}",
        f"if uri is None:\n    return {{}}\nelif IS_OLD:\n    {OLD}\nelse:\n    {NEW}",
        'return {"sync_config": SyncConfig(upload_dir=uri)} if IS_OLD else {"storage_path": uri}',
        f'if version.parse("2.5") > RAY:\n    {OLD}\n{NEW}',
        f'if version.parse("2.5") <= RAY:\n    {NEW}\n{OLD}',
        f'if version.parse("2.0") <= RAY < version.parse("2.5"):\n    {OLD}\n{NEW}',
        f'if hasattr(ray.train, "RunConfig"):\n    {NEW}\n{OLD}',
    ],
)
def test_code_for_older_versions_of_ray_is_not_told_of(body: str) -> None:
    assert not told(body)


@pytest.mark.parametrize(
    "body",
    [
        OLD,
        f'if RAY >= version.parse("2.5"):\n    {OLD}\n{NEW}',
        f'if RAY >= version.parse("2.5"):\n    print(uri)\n{OLD}',
        f'if RAY >= version.parse("2.99"):\n    {NEW}\n{OLD}',
        f"if IS_OLD or uri:\n    {OLD}\n{NEW}",
        f'if ray.__version__ < "2.7":\n    {OLD}\n{NEW}',
        f'if "2.7" > ray.__version__:\n    {OLD}\n{NEW}',
        f'if version.parse("2.5") > RAY > version.parse(LOWEST):\n    {NEW}\nelse:\n    {OLD}',
        f'if hasattr(ray.train.Checkpoint, "to_dict"):\n    {NEW}\n{OLD}',  # False today, which its table does not show
        f'if hasattr(ray.train.Result, "storage"):\n    {NEW}\n{OLD}',
        f'if version.parse(uri.get("ray")) < version.parse("2.5"):\n    {OLD}\n{NEW}',  # a version of others
    ],
)
def test_what_may_run_today_is_told_of(body: str) -> None:
    assert told(body)
