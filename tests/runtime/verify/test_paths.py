"""What reports say of files: nothing of the machine that made them, and a command that does the same again."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from raymigrate.runtime.verify.paths import shown, typed


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user with a project, in which the user works."""
    home = tmp_path / "a person's home"
    project = home / "project"
    (project / "jobs").mkdir(parents=True)
    (project / "pyproject.toml").touch()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(project)
    return home


def test_a_file_is_named_below_the_working_directory(home: Path) -> None:
    assert shown(home / "project/jobs/train.py") == Path("jobs/train.py")
    assert shown(Path("jobs/train.py")) == Path("jobs/train.py")


def test_a_file_elsewhere_is_named_below_its_project(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home / "project/jobs")
    assert shown(home / "project/tools/train.py") == Path("tools/train.py")


def test_a_file_in_no_project_is_named_alone(home: Path) -> None:
    assert shown(home / "raymigrate-original-x1y2/train.py") == Path("train.py")


def test_a_command_names_no_folder_of_its_user(home: Path) -> None:
    words = ["raymigrate", "verify", str(home / "project/train.py"), f"--report={home}/out.md", "--", f"data={home}/d"]
    command = typed(words)
    assert command == 'raymigrate verify train.py --report="$HOME"/out.md -- data="$HOME"/d'
    assert str(home) not in command


def test_what_is_no_path_stays_as_it_was_typed(home: Path) -> None:
    words = ["raymigrate", "verify", "jobs/train.py", "--arms=A,O", "--", "it's", "a=b=c", "", "/data/rows.csv", "x=/"]
    assert typed(words) == "raymigrate verify jobs/train.py --arms=A,O -- 'it'\"'\"'s' a=b=c '' /data/rows.csv x=/"


def test_a_shell_gets_the_same_arguments_from_the_command(home: Path) -> None:
    words = [str(home / "with blank/$x.py"), f"--report={home}/it's.md", "*", str(home / "project"), "--a=b c", "$HOME"]
    printed = subprocess.run(
        ["/bin/sh", "-c", f"printf '%s\\n' {typed(words)}"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert [home / "project" / word if word == "." else word for word in printed] == [
        home / "project" if word == str(home / "project") else word for word in words
    ]


def test_a_home_that_is_the_root_folder_is_no_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As users of some containers have it: every path would be in it."""
    monkeypatch.setenv("HOME", "/")
    assert typed(["/data/rows.csv"]) == "/data/rows.csv"
