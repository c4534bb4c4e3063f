"""RM698: what a script gives ray.init() and the job that runs it has as well."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.run.job import Job
from tests.projects.files import convert, write
from tests.test_pins_asked_for import notebook

SCRIPT = """
import ray
from ray.air import session
from ray.runtime_env import RuntimeEnv
ray.init({given})
session.get_world_rank()
"""
CLIENT = "from ray.job_submission import JobSubmissionClient\nclient = JobSubmissionClient('http://head:8265')\n"
PIP = 'runtime_env={"pip": ["a"]}'


def told(folder: Path, files: dict[str, str]) -> list[str]:
    """The messages of the rule for a small project."""
    write(folder, {"pyproject.toml": "", **files})
    found = convert(folder).findings
    return [finding.message for finding in found if (finding.code, finding.kind) == ("RM698", Kind.MANUAL)]


BOTH = {
    "the same field": (f"'auto', {PIP}", f"client.submit_job(entrypoint='python train.py', {PIP})"),
    "a dict by name": (
        PIP,
        "ENV = dict(pip=['b'])\nclient.submit_job(entrypoint=f'cd x && python {train}/train.py', runtime_env=ENV)",
    ),
    "an object": (
        "runtime_env=RuntimeEnv(pip=['a'])",
        f"client.submit_job(entrypoint='python -m jobs.train', {PIP})",
    ),
    "a command put together": (
        PIP,
        f"script = 'train.py'\nclient.submit_job(entrypoint=' '.join(['python', script]), {PIP})",
    ),
    "a list by name": (PIP, "pip = []\nclient.submit_job(entrypoint='python train.py', runtime_env={'pip': pip})"),
    "unpacked": (
        "**{'runtime_env': {'pip': ['a']}}",
        f"job = dict(entrypoint='python train.py', {PIP})\nclient.submit_job(**job)",
    ),
    "filled later": (
        PIP,
        "env = {}\nenv['pip'] = []\nclient.submit_job(entrypoint='python train.py', runtime_env=env)",
    ),
}


@pytest.mark.parametrize(("given", "submits"), BOTH.values(), ids=BOTH)
def test_a_field_of_both_is_told(tmp_path: Path, given: str, submits: str) -> None:
    (message,) = told(tmp_path, {"train.py": SCRIPT.format(given=given), "submit.py": f"{CLIENT}{submits}\n"})
    assert "has pip too" in message


def test_a_variable_of_both_is_told(tmp_path: Path) -> None:
    files = {
        "train.py": SCRIPT.format(given='runtime_env={"env_vars": {"A": "1", "B": "1"}}'),
        "submit.py": f"{CLIENT}client.submit_job(entrypoint='python train.py',"
        " runtime_env={'env_vars': {'A': '2'}})\n",
    }
    (message,) = told(tmp_path, files)
    assert "has A in env_vars too" in message


COMMANDS = {
    "json": 'ray job submit --runtime-env-json=\'{"pip": ["b"]}\' -- python train.py',
    "in two lines": 'ray job submit --no-wait \\\n  --runtime-env-json \'{"pip": ["b"]}\' -- python train.py',
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_commands_in_shell_scripts_and_cells_are_read(tmp_path: Path, command: str) -> None:
    script = SCRIPT.format(given=PIP)
    assert len(told(tmp_path / "a", {"train.py": script, "run.sh": f"{command}\n"})) == 1
    assert len(told(tmp_path / "b", {"x.ipynb": notebook(f"%%writefile train.py{script}", f"!{command}")})) == 1
    assert len(told(tmp_path / "c", {"x.ipynb": notebook(f"%%writefile train.py{script}", f"%%bash\n{command}")})) == 1


def test_the_folder_of_a_command_is_a_field(tmp_path: Path) -> None:
    script = SCRIPT.format(given='runtime_env={"working_dir": "."}')
    (message,) = told(
        tmp_path, {"train.py": script, "run.sh": "ray job submit --working-dir . -- python train.py --lr 1\n"}
    )
    assert "has working_dir too" in message


def test_a_notebook_that_writes_and_submits_a_script(tmp_path: Path) -> None:
    cells = [
        f"%%writefile train.py{SCRIPT.format(given=PIP)}",
        f"{CLIENT}client.submit_job(entrypoint='python train.py', {PIP})",
    ]
    assert len(told(tmp_path, {"x.ipynb": notebook(*cells)})) == 1


FRIENDS = {
    "other fields": (PIP, "client.submit_job(entrypoint='python train.py', runtime_env={'working_dir': '.'})"),
    "other variables": (
        "runtime_env={'env_vars': {'A': '1'}}",
        "client.submit_job(entrypoint='python train.py', runtime_env={'env_vars': {'B': '1'}})",
    ),
    "another script": (PIP, f"client.submit_job(entrypoint='python retrain.py', {PIP})"),
    "no environment of the job": (PIP, "client.submit_job(entrypoint='python train.py')"),
    "no environment of the script": ("'auto'", f"client.submit_job(entrypoint='python train.py', {PIP})"),
    "a client": (f"'ray://head:10001', {PIP}", f"client.submit_job(entrypoint='python train.py', {PIP})"),
    "the script's is to win": (
        PIP,
        "client.submit_job(entrypoint='python train.py', runtime_env={'pip': [],"
        " 'env_vars': {'RAY_OVERRIDE_JOB_RUNTIME_ENV': '1'}})",
    ),
}


@pytest.mark.parametrize(("given", "submits"), FRIENDS.values(), ids=FRIENDS)
def test_environments_that_fit_together_are_not_told(tmp_path: Path, given: str, submits: str) -> None:
    files = {"train.py": SCRIPT.format(given=given), "submit.py": f"{CLIENT}{submits}\n"}
    assert told(tmp_path, files) == []


SERVES = f"import ray\nfrom ray import serve\nray.init('auto', namespace='serve', {PIP})\nserve.start()\n"
SUBMITS = f"{CLIENT}client.submit_job(entrypoint='python serve_it.py', {PIP})\n"
LEGACY = "from ray.air import session\nsession.get_world_rank()\n"
TOO = "client.submit_job(entrypoint='python train.py')\n"
OLD_PROJECTS = {
    "pins": {"requirements.txt": "ray==2.6.3\n", "submit.py": SUBMITS},
    "what submits it": {"submit.py": f"{LEGACY}{SUBMITS}"},
    "what is submitted too": {"submit.py": f"{SUBMITS}{TOO}", "train.py": LEGACY},
    "commands": {
        "run.sh": "ray job submit --runtime-env-json '{\"pip\": []}' -- python serve_it.py\n"
        "ray job submit -- python train.py\n",
        "train.py": LEGACY,
    },
}


@pytest.mark.parametrize("others", OLD_PROJECTS.values(), ids=OLD_PROJECTS)
def test_a_script_without_legacy_names_of_an_old_project_is_told(tmp_path: Path, others: dict[str, str]) -> None:
    assert len(told(tmp_path, {"serve_it.py": SERVES, **others})) == 1


@pytest.mark.parametrize(
    "others",
    [
        {"submit.py": SUBMITS},
        {"requirements.txt": "ray==2.40.0\n", "submit.py": SUBMITS},
        {"requirements.txt": "ray>=2.6\n", "submit.py": SUBMITS},
        {"requirements.txt": "ray==2.6.3\n", "submit.py": SUBMITS.replace("serve_it", "serve_other")},
        {"submit.py": SUBMITS, "train.py": LEGACY},
    ],
)
def test_one_of_a_project_of_today_is_not(tmp_path: Path, others: dict[str, str]) -> None:
    assert told(tmp_path, {"serve_it.py": SERVES, **others}) == []


@pytest.mark.parametrize("form", ["files", "cells"])
def test_a_comment_about_it_stays_in_the_converted_script(tmp_path: Path, form: str) -> None:
    script, submits = SCRIPT.format(given=PIP), f"{CLIENT}client.submit_job(entrypoint='python train.py', {PIP})\n"
    cells = notebook(f"%%writefile train.py{script}", submits)
    write(tmp_path, {"train.py": script, "submit.py": submits} if form == "files" else {"x.ipynb": cells})
    place = tmp_path / ("train.py" if form == "files" else "x.ipynb")
    convert(tmp_path, job=Job(Options(todo=True)))
    once = place.read_text()
    assert "TODO(raymigrate): RM698" in once
    convert(tmp_path, job=Job(Options(todo=True)))
    assert place.read_text() == once


def test_a_module_that_connects_for_the_script_is_told(tmp_path: Path) -> None:
    files = {
        "connect.py": f"import ray\n\n\ndef connect():\n    ray.init({PIP})\n",
        "train.py": f"import connect\n{LEGACY}connect.connect()\n",
        "submit.py": f"{CLIENT}client.submit_job(entrypoint='python train.py', {PIP})\n",
    }
    assert len(told(tmp_path, files)) == 1


@pytest.mark.parametrize(
    "cells", [[f"%%writefile train.py\n{LEGACY}"], ["!pip install ray==2.6.3"], [LEGACY]], ids=["script", "pin", "code"]
)
def test_a_script_of_a_cell_of_an_old_notebook_is_told(tmp_path: Path, cells: list[str]) -> None:
    assert len(told(tmp_path, {"x.ipynb": notebook(*cells, f"%%writefile serve_it.py\n{SERVES}", SUBMITS)})) == 1


def test_a_script_of_a_cell_of_a_notebook_of_today_is_not(tmp_path: Path) -> None:
    assert told(tmp_path, {"x.ipynb": notebook(f"%%writefile serve_it.py\n{SERVES}", SUBMITS)}) == []


def test_a_script_of_today_is_not_told(tmp_path: Path) -> None:
    files = {
        "train.py": f"import ray\nfrom ray.train.torch import TorchTrainer as T\nray.init({PIP})\nT(print).fit()\n",
        "submit.py": f"{CLIENT}client.submit_job(entrypoint='python train.py', {PIP})\n",
    }
    assert told(tmp_path, files) == []
