"""RM401: what to do about each key that a RunConfig refuses in a dict that is unpacked."""

import pytest

from tests.rules.scripts import converted

SCRIPT = """
from ray.air import RunConfig, ScalingConfig
from ray.air.integrations.mlflow import MLflowLoggerCallback
from ray.train.torch import TorchTrainer

options = dict(name=name)
options["{key}"] = {value}
trainer = TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2), run_config=RunConfig(**options))
"""


@pytest.mark.parametrize(
    ("key", "value", "advice"),
    [
        ("callbacks", "[MLflowLoggerCallback()]", "Drop the key. A ray.train.UserCallback with after_report() takes"),
        ("local_dir", "folder", "Drop the key. storage_path= took the place"),
        ("sync_config", "sync", "Drop the key. storage_path= took the place"),
        ("stop", "{'loss': 1}", "Drop the key. Use num_train_epochs"),
        ("verbose", "1", "Drop the key."),
    ],
)
def test_each_key_has_advice_of_its_own(key: str, value: str, advice: str) -> None:
    outcome = converted(SCRIPT.format(key=key, value=value))
    (told,) = (message for message in outcome.messages if message.startswith(f"RunConfig({key}=)"))
    assert advice in told
    assert ("storage_path" in told) is (key in ("local_dir", "sync_config"))
