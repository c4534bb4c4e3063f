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


CONFIGURED = """
import os
import ray
from ray.train import RunConfig
from ray.train.torch import TorchTrainer

os.environ["RAY_AIR_LOCAL_CACHE_DIR"] = folder
{more}
TorchTrainer(loop, run_config=RunConfig(storage_path="s3://bucket/runs")).fit()
"""


@pytest.mark.parametrize(
    ("more", "needless"),
    [
        ("", True),
        ('other = RunConfig(name="a", storage_path=folder)', True),
        ('other = RunConfig(name="a", local_dir="/runs")', True),
        ('other = RunConfig(name="a")', False),
        ('other = RunConfig(name="a", storage_path=None)', False),
        ("TorchTrainer(loop).fit()", False),
    ],
)
def test_a_variable_beside_folders_that_are_named_is_needless(more: str, *, needless: bool) -> None:
    [message] = [m for m in converted(CONFIGURED.format(more=more)).messages if "RAY_AIR_LOCAL_CACHE_DIR" in m]
    assert ("Take it out, with what else reads it: every run here" in message) is needless
    assert ("give RunConfig(storage_path=) that folder" in message) is not needless


@pytest.mark.parametrize(
    ("value", "count"),
    [
        ('os.environ["RAY_AIR_LOCAL_CACHE_DIR"]', 1),
        ('os.environ.get("RAY_AIR_LOCAL_CACHE_DIR", "")', 1),
        ('os.getenv("RAY_AIR_LOCAL_CACHE_DIR")', 1),
        ('os.environ["HOME"]', 2),
        ("folder", 2),
    ],
)
def test_a_copy_for_other_processes_is_not_told_again(value: str, count: int) -> None:
    copy = f'ray.init(runtime_env={{"env_vars": {{"RAY_AIR_LOCAL_CACHE_DIR": {value}}}}})'
    assert len(converted(CONFIGURED.format(more=copy)).lines("RM402", Kind.MANUAL)) == count


def test_a_copy_of_what_another_program_sets_is_told() -> None:
    copy = 'os.environ["TUNE_RESULT_DIR"] = os.environ["TUNE_RESULT_DIR"]'
    passed = 'ray.init(runtime_env={"env_vars": {"TUNE_RESULT_DIR": os.environ["TUNE_RESULT_DIR"]}})'
    assert converted(f"{HEAD}{copy}\n").lines("RM402", Kind.MANUAL)
    assert converted(f"{HEAD}{passed}\n").lines("RM402", Kind.MANUAL)


@pytest.mark.parametrize(
    "start",
    [
        'client.submit_job(entrypoint="python job.py", runtime_env={{"env_vars": {variables}}})',
        'ray.init(runtime_env={{"env_vars": {variables}}})\nsubprocess.run(["python", "job.py"])',
    ],
)
def test_what_starts_other_scripts_does_not_know_their_folders(start: str) -> None:
    head = "import subprocess\nimport ray\nfrom ray.job_submission import JobSubmissionClient\n"
    script = f"{head}\nclient = JobSubmissionClient()\n{start.format(variables={'TUNE_RESULT_DIR': '/runs'})}\n"
    [message] = [m for m in converted(script).messages if "TUNE_RESULT_DIR" in m]
    assert "to each RunConfig that has no storage_path= yet" in message
