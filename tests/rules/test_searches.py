"""RM697 and RM693: what hyperparameter_search() hands to ray.tune.run()."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from ray import tune
from transformers import Trainer, TrainingArguments
from transformers.trainer_utils import HPSearchBackend

BACKEND = "ray"
options = {{"local_dir": "results", "n_trials": 2}}
trainer = Trainer(model_init=model, args=TrainingArguments("out"))
{call}
"""


@pytest.mark.parametrize(
    "call",
    [
        'trainer.hyperparameter_search(backend="ray", local_dir="results")',
        'trainer.hyperparameter_search(hp_space=space, n_trials=2, local_dir=folder, backend="ray", name="search")',
        'trainer.hyperparameter_search(backend=HPSearchBackend.RAY, local_dir="results")',
        'trainer.hyperparameter_search(space, None, 2, "maximize", BACKEND, local_dir="results")',
        'trainer.hyperparameter_search(backend="ray", **options)',
        'other.hyperparameter_search(backend="ray", local_dir="results")',
    ],
)
def test_what_ray_refuses_is_told(call: str) -> None:
    outcome = converted(SCRIPT.format(call=call))
    assert outcome.lines("RM697", Kind.MANUAL) == [8]
    (message,) = (message for message in outcome.messages if "local_dir=" in message)
    assert "if Ray" not in message and "storage_path=" in message


def test_where_the_backend_is_not_said_it_depends() -> None:
    messages = converted(SCRIPT.format(call='trainer.hyperparameter_search(local_dir="results")')).messages
    assert any("if Ray is its backend" in message for message in messages)


def test_what_ray_does_not_know_is_told() -> None:
    call = 'trainer.hyperparameter_search(backend="ray", upload_dir="s3://bucket", keep_checkpoints_num=1)'
    outcome = converted(SCRIPT.format(call=call))
    assert outcome.lines("RM693", Kind.MANUAL) == [8]
    assert any("hyperparameter_search(upload_dir=)" in message for message in outcome.messages)


@pytest.mark.parametrize(
    "call",
    [
        'trainer.hyperparameter_search(backend="optuna", local_dir="results")',
        'trainer.hyperparameter_search(backend="ray", local_dir=None, name="search", scheduler=one, search_alg=two)',
        'trainer.hyperparameter_search(backend="ray", **{"n_trials": 2, "local_dir": None})',
        'other.hyperparameter_search(backend="own", local_dir="results")',
        'other.hyperparameter_search(local_dir="results")',
        'trainer.hyperparameter_search(backend="ray", hp_name=name, resources_per_trial={"cpu": 1}, storage_path="/x")',
    ],
)
def test_what_works_is_not(call: str) -> None:
    outcome = converted(SCRIPT.format(call=call))
    assert not outcome.lines("RM697", Kind.MANUAL) + outcome.lines("RM693", Kind.MANUAL)
