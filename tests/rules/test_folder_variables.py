"""RM402, for the variables of the environment that named the folder of all runs."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import os
from os import environ
from unittest import mock
import ray
from ray import tune
from ray.train.torch import TorchTrainer

NAME = "RAY_AIR_LOCAL_CACHE_DIR"
trainer = TorchTrainer(loop)
"""


@pytest.mark.parametrize(
    "setting",
    [
        'os.environ["RAY_AIR_LOCAL_CACHE_DIR"] = folder',
        'environ["TUNE_RESULT_DIR"] = folder',
        "os.environ[NAME] = folder",
        'variables = os.environ\nvariables["TUNE_RESULT_DIR"] = folder',
        'os.environ.setdefault("RAY_AIR_LOCAL_CACHE_DIR", folder)',
        'os.environ.update({"TUNE_RESULT_DIR": folder})',
        "os.environ.update(TUNE_RESULT_DIR=folder)",
        'os.environ |= {"TUNE_RESULT_DIR": folder}',
        'os.putenv("TUNE_RESULT_DIR", folder)',
        'def test(monkeypatch, tmp_path):\n    monkeypatch.setenv("RAY_AIR_LOCAL_CACHE_DIR", str(tmp_path))',
        'with mock.patch.dict(os.environ, {"TUNE_RESULT_DIR": folder}):\n    trainer.fit()',
        "with mock.patch.dict(os.environ, TUNE_RESULT_DIR=folder):\n    trainer.fit()",
        'ray.init(runtime_env={"env_vars": {"RAY_AIR_LOCAL_CACHE_DIR": folder}})',
        'ray.init(runtime_env=ray.runtime_env.RuntimeEnv(env_vars={"RAY_AIR_LOCAL_CACHE_DIR": folder}))',
        'ray.init(runtime_env={"env_vars": dict(RAY_AIR_LOCAL_CACHE_DIR=folder)})',
    ],
)
def test_a_variable_that_named_the_folder_of_runs_is_told(setting: str) -> None:
    (message,) = (m for m in converted(f"{HEAD}{setting}\n").messages if "does not take" in m)
    assert "without a storage_path= it is ~/ray_results" in message
    (message,) = (m for m in converted(f"{HEAD}{setting}\ntune.Tuner(loop).fit()\n").messages if "is set" in m)
    assert "Tuner.fit() and tune.run() raise a DeprecationWarning" in message


@pytest.mark.parametrize(
    "code",
    [
        'folder = os.environ.get("TUNE_RESULT_DIR", "~/ray_results")',
        'os.environ.pop("TUNE_RESULT_DIR", None)\ndel os.environ["RAY_AIR_LOCAL_CACHE_DIR"]',
        'settings = {"TUNE_RESULT_DIR": folder}\nprint(settings["TUNE_RESULT_DIR"], NAME)',
        'os.environ["OWN_TUNE_RESULT_DIR"] = folder\nloop.set("TUNE_RESULT_DIR", 1)',
        'def test(monkeypatch):\n    monkeypatch.delenv("TUNE_RESULT_DIR")',
    ],
)
def test_what_only_reads_it_or_takes_it_out_is_not_told(code: str) -> None:
    assert not converted(f"{HEAD}{code}\n").lines("RM402", Kind.MANUAL)
