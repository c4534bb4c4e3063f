"""Workers of Ray are forked from a process that has imported what each of them would, and are none the worse for it.

The raylet is made up here, and its worker is a script that tells of itself; tests/test_jobs.py and the tests of verify
run real ones.
"""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from raymigrate.runtime.verify.arms import INJECTED
from tests.jobs import RAY_SETTINGS, python_path, short_folder

pytestmark = [pytest.mark.ray, pytest.mark.xdist_group("forked workers")]

WORKER = """
import json, os, random, signal, sys
names = ["ray.train.torch", "ray.train.huggingface", "transformers"]
about = {
    "loaded": [name for name in names if name in sys.modules],
    "arguments": sys.argv[1:],
    "folder": os.getcwd(),
    "path": sys.path[0],
    "job": os.environ.get("RAY_JOB_ID"),
    "leads its group": os.getpgid(0) == os.getpid(),
    "waits for children": signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL,
    "main": __name__,
    "started by": os.getppid(),
}
import datasets, numpy
from ray import WorkerID
about["datasets"] = datasets.__file__
about["drawn"] = [WorkerID.from_random().hex(), random.random(), numpy.random.rand()]
print(json.dumps(about))
"""
Start = Callable[..., dict[str, Any]]


@contextlib.contextmanager
def made_up_raylet(folder: Path) -> Iterator[Start]:
    """What starts a worker as a raylet does, and returns what the worker tells of itself."""
    script = folder / "default_worker.py"
    script.write_text(WORKER)
    with short_folder() as ray_folder, subprocess.Popen(["sleep", "600"]) as raylet:
        variables = {
            **os.environ,
            **RAY_SETTINGS,
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": python_path(),
            "RAY_TMPDIR": ray_folder,
            "RAY_RAYLET_PID": str(raylet.pid),
        }

        def start(*arguments: str, cwd: Path = folder, **changes: str) -> dict[str, Any]:
            command = [sys.executable, str(script), *arguments]
            ended = subprocess.run(command, cwd=cwd, env={**variables, **changes}, stdout=subprocess.PIPE, check=True)
            return json.loads(ended.stdout)

        try:
            yield start
        finally:
            raylet.kill()


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    with made_up_raylet(tmp_path_factory.mktemp("raylet")) as start:
        yield start


def test_a_fork_is_what_the_worker_would_have_been(start: Start, tmp_path: Path) -> None:
    about = start("--port=1", "x y", cwd=tmp_path, RAY_JOB_ID="02000000")
    assert about["arguments"] == ["--port=1", "x y"]
    assert about["folder"] == str(tmp_path)
    assert about["job"] == "02000000"
    assert about["main"] == "__main__"
    assert Path(about["path"]) != INJECTED
    assert about["waits for children"]
    assert about["leads its group"], "when a worker ends, the raylet kills its process group"


def test_it_has_imported_what_all_workers_import_and_no_more(start: Start) -> None:
    """A script that forgets to import ray.train.huggingface has to fail here as it does elsewhere."""
    assert start()["loaded"] == ["ray.train.torch", "transformers"]


def test_no_two_draw_the_same_numbers(start: Start) -> None:
    first, second = start()["drawn"], start()["drawn"]
    assert all(one != other for one, other in zip(first, second, strict=True))


def test_rays_own_modules_would_have_seeded_its_generator() -> None:
    """Without the template's care, forks draw the same ids, and it notices: workers then start as ever."""
    code = "import ray.data, raymigrate_template; print(raymigrate_template.draws_differ())"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(INJECTED)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert ended.stdout.strip() == "False"


def test_a_worker_with_other_variables_imports_for_itself(start: Start) -> None:
    """Modules that are imported already may have read them."""
    assert start()["loaded"]
    assert start(HF_HOME="elsewhere")["loaded"] == []


def test_a_module_beside_the_script_is_not_hidden_by_a_library(tmp_path: Path) -> None:
    (tmp_path / "datasets.py").touch()
    with made_up_raylet(tmp_path) as start:
        about = start()
    assert about["loaded"] == ["ray.train.torch", "transformers"]
    assert about["datasets"] == str(tmp_path / "datasets.py")


def test_the_template_ends_with_the_raylet(tmp_path: Path) -> None:
    with made_up_raylet(tmp_path) as start:
        template = start()["started by"]
        assert Path(f"/proc/{template}").exists()
    for _ in range(100):
        if not Path(f"/proc/{template}").exists():
            break
        time.sleep(0.1)
    assert not Path(f"/proc/{template}").exists()
