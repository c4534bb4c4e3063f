"""RM401, RM402, RM408 and RM695 in settings from which hydra makes a RunConfig or a ScalingConfig."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.facts.projects.project import Project
from raymigrate.run.job import Job
from tests.projects.files import convert, write


def told(folder: Path, text: str) -> list[tuple[str, int]]:
    path = folder / "config.yaml"
    path.write_text(text)
    findings = Job(Options(), write=False).look(str(path), Project()).findings
    return [(f.code, f.line) for f in findings if f.code != "RM695" and f.kind is Kind.MANUAL]


@pytest.mark.parametrize("module", ["ray.air", "ray.air.config", "ray.train"])
def test_what_a_configuration_refuses_is_told(tmp_path: Path, module: str) -> None:
    text = f"""run:
  name: run
  verbose: 2
  _target_: {module}.RunConfig
  local_dir: ~/ray_results
  stop:
    training_iteration: 3
scaling: {{_target_: {module}.ScalingConfig, num_workers: 2, trainer_resources: {{CPU: 0}}}}
"""
    assert told(tmp_path, text) == [("RM401", 3), ("RM402", 5), ("RM401", 6), ("RM401", 8)]


@pytest.mark.parametrize(
    "text",
    [
        "run:\n  _target_: ray.train.RunConfig\n  name: run\n  storage_path: s3://bucket\n",
        "run:\n  _target_: mine.RunConfig  # not ray.train.RunConfig\n  verbose: 2\n",
        "run:\n  _target_: ray.train.RunConfig\nother:\n  verbose: 2\n",
        "run:\n  _target_: ray.tune.RunConfig\n  verbose: 2\n",
        "run:\n  _target_: ray.train.RunConfig\n  verbose: 2  # raymigrate: skip[RM401] until June\n",
        "run: {{ template }}\n  _target_: ray.train.RunConfig\n  verbose: 2\n",
    ],
)
def test_else_there_is_nothing_to_say(tmp_path: Path, text: str) -> None:
    assert not told(tmp_path, text)


CALLBACKS = """run:
  _target_: ray.train.RunConfig
  callbacks: {callbacks}
"""


@pytest.mark.parametrize(
    ("callbacks", "named"),
    [
        (
            "\n    - _target_: ray.air.integrations.mlflow.MLflowLoggerCallback\n      experiment_name: a",
            "MLflowLogger",
        ),
        ("[{_target_: ray.tune.logger.CSVLoggerCallback}, {_target_: mine.Own}]", "CSVLoggerCallback"),
        ("[{_target_: mine.Own}]", "what is not a ray.train.UserCallback"),
        ("${callbacks}", "what is not a ray.train.UserCallback"),
        ("[]", ""),
        ("null", ""),
        ("[{_target_: ray.tune.integration.ray_train.TuneReportCallback}]", ""),
    ],
)
def test_callbacks_of_tune_are_told_and_not_taken_out(tmp_path: Path, callbacks: str, named: str) -> None:
    assert told(tmp_path, CALLBACKS.format(callbacks=callbacks)) == ([("RM408", 3)] if named else [])
    findings = Job(Options(), write=False).look(str(tmp_path / "config.yaml"), Project()).findings
    assert not named or any(f.code == "RM408" and named in f.message for f in findings)


USER_CALLBACK = """from ray.train import UserCallback
from ray.tune import Callback


class Own(UserCallback):
    pass


class Further(Own):
    pass


class Report(load("x")):
    pass


class Tuned(Callback):
    pass
"""


@pytest.mark.parametrize(
    ("named", "is_told"),
    [
        ("my.callbacks.Own", False),
        ("my.callbacks.Further", False),
        ("my.Shown", False),
        ("root.Own", False),
        ("my.callbacks.Tuned", True),
        ("my.callbacks.Report", True),
        ("my.callbacks.Other", True),
        ("other.Own", True),
        ("Own", True),
        ("${my.callbacks.Own}", True),
        ("my.callbacks.Own ] (", True),
    ],
)
def test_a_user_callback_of_the_project_is_right(tmp_path: Path, named: str, *, is_told: bool) -> None:
    """By whatever way it is reached; of a class that is not found it is said what it has to be."""
    shown = "from my.callbacks import Own as Shown\n"
    write(
        tmp_path, {"my/__init__.py": shown, "my/callbacks.py": USER_CALLBACK, "root.py": "from my.callbacks import *\n"}
    )
    write(tmp_path, {"setup.py": "", "conf/a.yaml": CALLBACKS.format(callbacks=f"\n    - _target_: '{named}'")})
    found = Job(Options(), write=False).look(str(tmp_path / "conf" / "a.yaml"), Project()).findings
    assert [(finding.line, finding.kind) for finding in found] == ([(3, Kind.MANUAL)] if is_told else [])


@pytest.mark.parametrize("name", ["ray.train.huggingface.AccelerateTrainer", "mine.AccelerateTrainer"])
def test_an_accelerate_config_goes_to_the_training_function(tmp_path: Path, name: str) -> None:
    text = f"trainer:\n  _target_: {name}\n  accelerate_config: {{a: 1}}\nother: {{accelerate_config: 1}}\n"
    assert told(tmp_path, text) == ([("RM202", 3)] if name.startswith("ray.") else [])


CONFIG_MAP = """apiVersion: v1
kind: ConfigMap
data:
  requirements.txt: |
    ray
  train.py: |
    {line}
    print(Trainer)
"""


def told_of_scripts(folder: Path, line: str) -> list[tuple[int, str]]:
    path = folder / "job.yaml"
    path.write_text(CONFIG_MAP.format(line=line))
    findings = Job(Options(), write=False).look(str(path)).findings
    return [(f.line, f.message) for f in findings if f.code == "RM905"]


def test_a_script_that_stands_in_the_file_is_told(tmp_path: Path) -> None:
    line = "from ray.train.huggingface import TransformersTrainer as Trainer"
    [(place, message)] = told_of_scripts(tmp_path, line)
    assert place == 6
    assert message.startswith("train.py stands in this file, and is not converted: ")


@pytest.mark.parametrize("line", ["from ray.train.torch import TorchTrainer as Trainer", "ray.air is {no} Python"])
def test_one_that_need_not_change_is_not(tmp_path: Path, line: str) -> None:
    assert not told_of_scripts(tmp_path, line)


TUNED = """
from hydra.utils import instantiate
from ray import train, tune
from ray.air import session
from ray.train.torch import TorchTrainer


def fit(cfg):
    session.report({{"a": 1}})
    {body}
"""
FOR_TUNER = "tune.Tuner(fn, run_config=instantiate(cfg.run)).fit()"
FOR_TRAINER = "TorchTrainer(fn, run_config=instantiate(cfg.run)).fit()"
SETTINGS = """run:
  _target_: {module}.RunConfig
  local_dir: /data
  stop: {{training_iteration: 3}}
  sync_config: {{_target_: ray.tune.SyncConfig, upload_dir: s3://b}}
  checkpoint_config: {{_target_: {module}.CheckpointConfig, checkpoint_frequency: 2}}
  callbacks: [{{_target_: ray.air.integrations.mlflow.MLflowLoggerCallback}}]
"""
BOTH = [("RM401", 4), ("RM401", 6), ("RM402", 3), ("RM402", 5), ("RM408", 7), ("RM695", 2), ("RM695", 6)]
OF_TUNER = [("RM402", 3), ("RM402", 5), ("RM695", 2), ("RM695", 6)]


def of_settings(folder: Path, body: str, module: str, more: str = "") -> tuple[list[tuple[str, int]], str]:
    write(folder, {"tune.py": TUNED.format(body=body)})
    (folder / "conf").mkdir()
    (folder / "conf/config.yaml").write_text(SETTINGS.format(module=module) + more)
    found = [f for f in convert(folder, folder / "conf/config.yaml").findings if f.path.endswith(".yaml")]
    return sorted((f.code, f.line) for f in found), " ".join(f"{f.message} {f.advice}" for f in found)


@pytest.mark.parametrize(
    "body",
    [
        FOR_TUNER,
        "run = instantiate(cfg.run)\n    tune.Tuner(fn, run_config=run).fit()",
        f"TorchTrainer(fn, run_config=train.RunConfig(name='a')).fit()\n    {FOR_TUNER}",
        f"TorchTrainer(fn).fit()\n    {FOR_TUNER}",
        "tune.Tuner(fn, **instantiate(cfg)).fit()",
    ],
)
def test_a_run_config_of_a_tuner_may_have_what_that_of_a_trainer_may_not(tmp_path: Path, body: str) -> None:
    found, messages = of_settings(tmp_path, body, "ray.air")
    assert found == OF_TUNER
    assert "SyncConfig(upload_dir=) raises" in messages and "ray.train.RunConfig" not in messages
    assert "A Tuner gets this: name ray.tune.RunConfig here." in messages
    assert "A Tuner gets this: name ray.tune.CheckpointConfig here." in messages


def test_one_of_train_is_none_for_a_tuner(tmp_path: Path) -> None:
    found, messages = of_settings(tmp_path, FOR_TUNER, "ray.train")
    assert found == [("RM401", 6), ("RM402", 3), ("RM402", 5), ("RM411", 2)]
    assert messages.count("A Tuner gets this: name ray.tune.") == 2


@pytest.mark.parametrize(
    ("body", "more"),
    [
        (FOR_TRAINER, ""),
        (f"{FOR_TUNER}\n    {FOR_TRAINER}", ""),
        (f"{FOR_TUNER}\n    TorchTrainer(fn, **instantiate(cfg)).fit()", ""),
        (f"{FOR_TUNER}\n    mine.OwnTrainer(fn, run_config=instantiate(cfg.run))", ""),
        (FOR_TUNER, "trainer:\n  _target_: ray.train.torch.TorchTrainer\n"),
        ("tune.Tuner(fn, run_config=tune.RunConfig(name='a')).fit()", ""),
        ("tune.Tuner(fn).fit()", ""),
    ],
)
def test_one_that_a_trainer_may_get_is_one_of_train(tmp_path: Path, body: str, more: str) -> None:
    found, messages = of_settings(tmp_path, body, "ray.air", more)
    assert found == BOTH
    assert "A Tuner gets this" not in messages
