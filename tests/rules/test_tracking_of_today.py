"""RM760 and RM761: addresses of MLflow that are folders, and the reports of Weights & Biases."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import os
import mlflow
import ray
from mlflow.tracking import MlflowClient
from ray.air.integrations.mlflow import MLflowLoggerCallback, setup_mlflow

RUNS = "/mnt/mlruns"
"""
FOLDERS = [
    'mlflow.set_tracking_uri("file:///mnt/mlruns")',
    'mlflow.set_tracking_uri("./mlruns")',
    'mlflow.set_tracking_uri("mlruns")',
    "mlflow.set_tracking_uri(RUNS)",
    'mlflow.set_tracking_uri(f"file://{os.getcwd()}/mlruns")',
    'mlflow.set_tracking_uri("file:" + folder)',
    'mlflow.set_tracking_uri(os.path.join("/mnt", folder))',
    'mlflow.set_registry_uri(uri="file:///mnt/models")',
    "MlflowClient(RUNS)",
    'mlflow.MlflowClient(registry_uri="file:///mnt/models")',
    "MLflowLoggerCallback(experiment_name='x', tracking_uri=RUNS)",
    'setup_mlflow({}, experiment_name="x", tracking_uri="file:/mnt/mlruns")',
    'os.environ["MLFLOW_TRACKING_URI"] = RUNS',
    'ray.init(runtime_env={"env_vars": {"MLFLOW_TRACKING_URI": "file:///mnt/mlruns"}})',
]
OTHERS = [
    'mlflow.set_tracking_uri("sqlite:////mnt/mlflow.db")',
    'mlflow.set_tracking_uri("http://host:5000/path")',
    'mlflow.set_tracking_uri("databricks")',
    'mlflow.set_tracking_uri("databricks://profile")',
    'mlflow.set_registry_uri("databricks-uc")',
    "mlflow.set_tracking_uri(address)",
    'mlflow.set_tracking_uri(f"{scheme}://host/path")',
    'mlflow.set_tracking_uri("")',
    "MLflowLoggerCallback(experiment_name='x', tracking_uri=None)",
    'own.set_tracking_uri("file:///mnt/mlruns")',
    'open("/mnt/mlruns")',
]


@pytest.mark.parametrize("line", FOLDERS)
def test_runs_in_a_folder_are_told(line: str) -> None:
    assert converted(f"{HEAD}{line}\nray.init()\n").lines("RM760", Kind.MANUAL) == [8]


@pytest.mark.parametrize("line", OTHERS)
def test_other_addresses_are_not(line: str) -> None:
    assert not converted(f"{HEAD}{line}\nray.init()\n").lines("RM760", Kind.MANUAL)


@pytest.mark.parametrize("line", FOLDERS)
def test_who_allows_folders_has_them(line: str) -> None:
    allowed = f'os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"\n{line}\nray.init()\n'
    assert not converted(HEAD + allowed).lines("RM760", Kind.MANUAL)


def test_an_address_that_many_calls_get_is_told_once() -> None:
    calls = "mlflow.set_tracking_uri(RUNS)\nMlflowClient(RUNS)\nsetup_mlflow({}, tracking_uri=RUNS)\nray.init()\n"
    assert converted(HEAD + calls).lines("RM760", Kind.MANUAL) == [8]


def test_a_script_without_ray_is_left_alone() -> None:
    assert not converted('import mlflow\nmlflow.set_tracking_uri("file:///mnt/mlruns")\n').findings


@pytest.mark.parametrize(
    "line",
    [
        "import wandb.apis.reports as wr",
        "import wandb.apis.reports",
        "from wandb.apis import reports",
        "from wandb.apis.reports import Report, H1",
        "from wandb.apis.reports.v2 import Report",
        "import wandb.apis.reports.v1 as wr",
    ],
)
def test_reports_that_moved_are_told_at_their_import(line: str) -> None:
    assert converted(f"import ray\n{line}\nray.init()\n").lines("RM761", Kind.MANUAL) == [2]


@pytest.mark.parametrize(
    "line",
    [
        "import wandb_workspaces.reports.v2 as wr",
        "from wandb.apis.public import Api",
        "from .wandb.apis import reports",
        "from own.apis import reports",
        "try:\n    import wandb.apis.reports as wr\nexcept ImportError:\n    wr = None",
    ],
)
def test_other_imports_are_not(line: str) -> None:
    assert not converted(f"import ray\n{line}\nray.init()\n").lines("RM761", Kind.MANUAL)
