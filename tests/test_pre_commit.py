"""The hooks, by pre-commit itself on a git repository, in the environment that it makes from this checkout.

pip takes half a minute for that, so these tests are marked slow: `pytest -m "not slow and not ray"` is quick.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import FIXTURES, ROOT

LEGACY = FIXTURES / "transformers_trainer/gpt2_wikitext_ray_data/before.py"
NOTEBOOK = FIXTURES / "notebooks/accelerate_one_string/before.ipynb"
MAX_MEGABYTES = 60  # libcst 8, pyyaml 3, click 1, pip and similar packages the rest; torch alone would be 700
MAX_SECONDS = 300  # half a minute on a quiet machine

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("pre-commit")]  # they share an environment


def run(*command: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(
        command, cwd=folder, env={**environment, **variables}, capture_output=True, text=True, check=False
    )


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    outcome = run("git", *identity, *arguments, folder=folder)
    assert outcome.returncode == 0, outcome.stderr


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This checkout as a git repository of its own, as pre-commit clones it: what git does not ignore."""
    folder = tmp_path_factory.mktemp("hooks") / "raymigrate"
    shutil.copytree(ROOT / "raymigrate", folder / "raymigrate", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml"):
        shutil.copy(ROOT / name, folder)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "All")
    git(folder, "tag", "v0.1.0")
    return folder


@pytest.fixture(scope="module")
def home(hooks: Path) -> Path:
    """The folder where pre-commit keeps its environments, with ours made; skips without pre-commit."""
    pytest.importorskip("pre_commit")
    folder = hooks.parent / "home"
    project = _project(hooks.parent / "first", hooks)
    started = time.monotonic()
    outcome = pre_commit(project, folder, "install-hooks")
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    assert time.monotonic() - started < MAX_SECONDS
    return folder


@pytest.fixture
def project(tmp_path: Path, hooks: Path) -> Path:
    """Somebody's repository with both hooks, a legacy script and an ordinary one."""
    return _project(tmp_path / "project", hooks)


def _project(folder: Path, hooks: Path) -> Path:
    folder.mkdir()
    (folder / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {hooks}\n  rev: v0.1.0\n  hooks:\n  - id: raymigrate\n  - id: raymigrate-check\n"
    )
    shutil.copy(LEGACY, folder / "train.py")
    (folder / "plain.py").write_text("import os\n")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    return folder


def pre_commit(folder: Path, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, "-m", "pre_commit", *arguments, folder=folder, PRE_COMMIT_HOME=str(home), PYTHONPATH="")


def test_the_environment_is_small(home: Path) -> None:
    [site_packages] = home.glob("repo*/py_env-*/lib/python*/site-packages")
    names = {path.name for path in site_packages.iterdir()}
    assert {"raymigrate", "libcst", "click"} <= names
    assert names.isdisjoint({"torch", "ray", "transformers", "numpy"})
    size = sum(path.stat().st_size for path in site_packages.rglob("*") if path.is_file())
    print(f"hook environment: {size / 1e6:.0f} MB")
    assert size < MAX_MEGABYTES * 1e6


def test_the_first_run_converts_and_the_second_is_content(project: Path, home: Path) -> None:
    first = pre_commit(project, home, "run", "raymigrate")
    assert first.returncode == 1
    assert "files were modified by this hook" in first.stdout
    assert (project / "train.py").read_bytes() == LEGACY.with_name("after.py").read_bytes()
    git(project, "add", "-A")
    assert pre_commit(project, home, "run").returncode == 0


def test_the_gate_writes_nothing_and_keeps_legacy_code_out(project: Path, home: Path) -> None:
    before = (project / "train.py").read_bytes()
    outcome = pre_commit(project, home, "run", "raymigrate-check")
    assert outcome.returncode == 1
    assert "train.py:" in outcome.stdout
    assert "RM101" in outcome.stdout
    assert (project / "train.py").read_bytes() == before


@pytest.mark.parametrize("hook", ["raymigrate", "raymigrate-check"])
def test_a_project_of_several_files_is_seen_as_a_whole(project: Path, home: Path, hook: str) -> None:
    """pre-commit would give each process a share of the files: enough of them for several shares."""
    before = FIXTURES / "projects/src_layout/before"
    shutil.copytree(before, project / "layout")
    (project / "train.py").unlink()
    for number in range(200):
        (project / f"plain_{number:03}.py").write_text("import os\n")
    git(project, "add", "-A")
    outcome = pre_commit(project, home, "run", "--all-files", hook)
    assert outcome.returncode == 1
    assert outcome.stdout.count("scanned)") == 1
    assert "RM908" not in outcome.stdout
    if hook == "raymigrate":
        for path in before.with_name("after").rglob("*.py"):
            assert (project / "layout" / path.relative_to(before.with_name("after"))).read_bytes() == path.read_bytes()


def test_notebooks_are_converted_too(project: Path, home: Path) -> None:
    shutil.copy(NOTEBOOK, project / "train.ipynb")
    git(project, "add", "-A")
    pre_commit(project, home, "run", "raymigrate")
    assert (project / "train.ipynb").read_bytes() == NOTEBOOK.with_name("after.ipynb").read_bytes()


def test_settings_of_the_project_hold(project: Path, home: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.raymigrate]\nexclude = ["train.py"]\n')
    git(project, "add", "-A")
    assert pre_commit(project, home, "run", "raymigrate-check").returncode == 0


def test_a_commit_is_stopped(project: Path, home: Path) -> None:
    assert pre_commit(project, home, "install").returncode == 0
    commit = ("git", "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-m", "All")
    outcome = run(*commit, folder=project, PRE_COMMIT_HOME=str(home), PYTHONPATH="")
    assert outcome.returncode != 0
    assert "raymigrate" in outcome.stderr
    git(project, "add", "-A")
    assert run(*commit, folder=project, PRE_COMMIT_HOME=str(home), PYTHONPATH="").returncode == 0
