"""What a release hands out: a wheel and a source distribution, checked, installed and run in empty environments."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.conftest import FIXTURES, ROOT

uv = pytest.importorskip("uv")
LEGACY = FIXTURES / "transformers_trainer/readme_example/before.py"
TAG = "v9.8.7"

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("release")]  # they share what is built


def run(*command: str | Path, folder: Path, status: int = 0) -> str:
    """Runs a command and gives what it printed."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTHON"))}
    variables["UV_CACHE_DIR"] = str(ROOT / "build/cache/uv")
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def git(folder: Path, *arguments: str) -> str:
    return run("git", "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments, folder=folder)


def build(source: Path, target: Path, *arguments: str) -> Path:
    """Builds what the arguments ask for, each in an environment of its own, and gives the folder."""
    run(
        uv.find_uv_bin(), "build", "--quiet", "--python", sys.executable, "--out-dir", target, *arguments, folder=source
    )
    return target


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This working tree as a repository whose only commit has a tag."""
    folder = tmp_path_factory.mktemp("release") / "raymigrate"
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", folder=ROOT).split("\0")
    for name in filter(None, listed):
        if (ROOT / name).is_file() and not name.startswith(("fixtures/", "docs/", "tests/")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "All")
    git(folder, "tag", TAG)
    return folder


@pytest.fixture(scope="module")
def built(checkout: Path) -> Path:
    """The source distribution of the tag, and the wheel that is built from that."""
    return build(checkout, checkout.parent / "built")


def wheel(folder: Path) -> Path:
    [path] = folder.glob("*.whl")
    return path


def test_both_have_the_version_of_the_tag_and_pass_the_checks_of_the_index(built: Path) -> None:
    names = sorted(path.name for path in built.iterdir() if path.suffix in (".whl", ".gz"))
    assert names == ["raymigrate-9.8.7-py3-none-any.whl", "raymigrate-9.8.7.tar.gz"]
    run(sys.executable, "-m", "twine", "check", "--strict", *(built / name for name in names), folder=built)
    run(sys.executable, "-m", "check_wheel_contents", wheel(built), folder=built)


def test_the_wheel_holds_every_file_of_the_package(built: Path) -> None:
    listed = run("git", "ls-files", "-z", "raymigrate", folder=ROOT).split("\0")
    with zipfile.ZipFile(wheel(built)) as archive:
        packed = {name for name in archive.namelist() if name.startswith("raymigrate/")}
    assert packed == {*filter(None, listed), "raymigrate/_version.py"}


def test_the_source_distribution_holds_the_package_and_no_tests_or_fixtures(built: Path) -> None:
    [path] = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        tops = {name.split("/")[1] for name in archive.getnames()}
    wanted = {"raymigrate", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "pyproject.toml", "PKG-INFO"}
    assert tops - {".gitignore"} == wanted


def test_the_wheel_converts_in_an_empty_environment(built: Path, tmp_path: Path) -> None:
    run(uv.find_uv_bin(), "venv", "--quiet", "--python", sys.executable, tmp_path / "venv", folder=tmp_path)
    python = tmp_path / "venv/bin/python"
    run(uv.find_uv_bin(), "pip", "install", "--quiet", "--python", python, wheel(built), folder=tmp_path)
    command = tmp_path / "venv/bin/raymigrate"
    assert run(command, "--version", folder=tmp_path) == "raymigrate, version 9.8.7\n"
    script = Path(shutil.copy(LEGACY, tmp_path / "train.py"))
    run(command, script, folder=tmp_path, status=1)
    assert script.read_text() == LEGACY.with_name("after.py").read_text()
    assert "RM604" in run(command, "explain", "RM604", folder=tmp_path)


def test_uvx_runs_the_wheel_without_installing_it_and_with_the_report(built: Path, tmp_path: Path) -> None:
    shutil.copy(LEGACY, tmp_path / "train.py")
    package = f"raymigrate[report] @ {wheel(built).as_uri()}"
    command = [uv.find_uv_bin(), "tool", "run", "--python", sys.executable, "--from", package, "raymigrate"]
    run(*command, "check", "--report", "page.html", "train.py", folder=tmp_path, status=1)
    assert "Made by raymigrate 9.8.7" in (tmp_path / "page.html").read_text()


def test_checkouts_without_tags_and_without_git_build_too(checkout: Path, tmp_path: Path) -> None:
    untagged = tmp_path / "untagged"
    git(tmp_path, "clone", "-q", "--no-tags", str(checkout), str(untagged))
    assert wheel(build(untagged, tmp_path / "a", "--wheel")).name.startswith("raymigrate-0.0.1.dev1+g")
    shutil.rmtree(untagged / ".git")
    assert wheel(build(untagged, tmp_path / "b", "--wheel")).name.startswith("raymigrate-0.0.0-")


def test_an_archive_of_the_tag_as_github_makes_it_for_an_action_has_its_version(checkout: Path, tmp_path: Path) -> None:
    git(checkout, "archive", "--output", str(tmp_path / "tag.tar"), TAG)
    with tarfile.open(tmp_path / "tag.tar") as archive:
        archive.extractall(tmp_path / "tag", filter="data")
    assert wheel(build(tmp_path / "tag", tmp_path / "built", "--wheel")).name == "raymigrate-9.8.7-py3-none-any.whl"
