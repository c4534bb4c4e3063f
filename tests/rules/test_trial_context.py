"""RM305: the folder of a trial, where a run is kept in a folder of the machine."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from ray import tune
from ray.air import session
from ray.air.config import RunConfig
from ray.train.torch import TorchTrainer
from job import settings


def train_func(config):
    print(session.get_trial_dir())


TorchTrainer(train_func, run_config=RunConfig({storage})).fit()
"""


@pytest.mark.parametrize(
    "storage",
    [
        "",
        "storage_path=None",
        "local_dir='/mnt/runs'",
        # a path of the machine, whatever it is: else a second run would see what the first did not
        "local_dir=settings.folder",
        "local_dir=settings.get('out', '~/runs')",
        "local_dir='/mnt/runs' if settings.shared else '/tmp/runs'",
        # what the same run takes away, as it names no storage
        "local_dir=None",
        "sync_config=None",
        "sync_config=tune.SyncConfig(syncer=None)",
    ],
)
def test_a_run_in_a_folder_of_the_machine_has_that_folder(storage: str) -> None:
    outcome = converted(SCRIPT.format(storage=storage))
    assert "ray.train.get_context().get_storage().experiment_fs_path" in outcome.text
    assert outcome.lines("RM305", Kind.CONVERTED) == [9]


@pytest.mark.parametrize(
    "storage",
    [
        "storage_path='s3://bucket/runs'",
        "sync_config=tune.SyncConfig(upload_dir='s3://bucket/runs')",
        "local_dir='s3://bucket/runs'",
        "storage_path=settings.folder",
        "storage_filesystem=find()",
        "sync_config=find()",
        "**find()",
    ],
)
def test_a_run_that_may_be_kept_elsewhere_is_told(storage: str) -> None:
    assert converted(SCRIPT.format(storage=storage)).lines("RM305", Kind.MANUAL) == [9]
