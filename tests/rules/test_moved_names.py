"""RM692: what is read below a name that the tool moves, and is gone where the name is now, is told at once."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

IMPORTS = [
    ("from ray.air.callbacks.wandb import WandbLoggerCallback", "WandbLoggerCallback"),
    ("from ray.air.callbacks.wandb import WandbLoggerCallback as Own", "Own"),
    ("from ray.tune.integration.wandb import WandbLoggerCallback", "WandbLoggerCallback"),
    ("import ray.air.callbacks.wandb as w", "w.WandbLoggerCallback"),
    ("from ray.air.callbacks import wandb", "wandb.WandbLoggerCallback"),
    ("from ray.air.integrations.wandb import WandbLoggerCallback", "WandbLoggerCallback"),
]


@pytest.mark.parametrize(("imports", "name"), IMPORTS)
@pytest.mark.parametrize("use", ["{}._logger_process_cls = print", "print({}._logger_process_cls)"])
def test_a_private_name_of_a_moved_class_is_told_in_the_first_run(imports: str, name: str, use: str) -> None:
    outcome = converted(f"{imports}\n\n{use.format(name)}\n")
    assert len(outcome.lines("RM692", Kind.MANUAL)) == 1
    assert len(converted(outcome.text).lines("RM692", Kind.MANUAL)) == 1


@pytest.mark.parametrize(("imports", "name"), IMPORTS)
@pytest.mark.parametrize(
    "use",
    [
        "{}.AUTO_CONFIG_KEYS",
        "{}(project='x')._logger_process_cls",
        "{0}._logger_process_cls if hasattr({0}, '_logger_process_cls') else None",
    ],
)
def test_what_is_there_or_asked_for_is_not_told(imports: str, name: str, use: str) -> None:
    assert not converted(f"{imports}\n\nprint({use.format(name)})\n").lines("RM692", Kind.MANUAL)
