"""RM408: what the callbacks of trackers need to log in from the controller."""

import pytest

from tests.rules.scripts import converted

SCRIPT = """
import os
from ray.air.config import RunConfig, ScalingConfig
from ray.air.integrations.mlflow import MLflowLoggerCallback
from ray.air.integrations.wandb import WandbLoggerCallback
from ray.train.huggingface import TransformersTrainer
from job import build, train_ds, token

os.environ["{variable}"] = token
trainer = TransformersTrainer(
    trainer_init_per_worker=build,
    scaling_config=ScalingConfig(num_workers=2, use_gpu=True),
    run_config=RunConfig(callbacks=[{callback}]),
    datasets={{"train": train_ds}},
)
trainer.fit()
"""
MLFLOW = 'MLflowLoggerCallback(tracking_uri="https://mlflow.example.org", experiment_name="e")'
LATE = MLFLOW.replace(")", ", save_artifact=True)")
WANDB = 'WandbLoggerCallback(project="p")'


@pytest.mark.parametrize(
    ("variable", "callback", "prefix"),
    [
        ("MLFLOW_TRACKING_TOKEN", MLFLOW, '("MLFLOW_", "DATABRICKS_")'),
        ("DATABRICKS_TOKEN", LATE, '("MLFLOW_", "DATABRICKS_")'),
        ("WANDB_API_KEY", WANDB, '"WANDB_"'),
    ],
)
def test_what_the_driver_sets_in_its_environment_reaches_the_callback(
    variable: str, callback: str, prefix: str
) -> None:
    after = converted(SCRIPT.format(variable=variable, callback=callback)).text
    assert f"for key, value in os.environ.items() if key.startswith({prefix})" in after
    assert "self.client()" in after or "env_vars" in after
