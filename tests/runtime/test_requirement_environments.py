"""Environments that a user names: requirements files, which are installed once, and folders."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.runtime import environments
from raymigrate.runtime.environments import EnvironmentFailure, making, requirements
from raymigrate.runtime.environments.command import env
from tests.runtime.fake_libraries import write_wheel


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Wheels that pip alone sees, an empty cache, torch 9.9.1."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name, version in [("torch", "9.9.1"), ("torch", "9.9.2"), ("numpy", "1.0"), ("transformers", "4.0")]:
        write_wheel(folder, name, version)
    monkeypatch.setattr(requirements, "own_torch", lambda: "9.9.1")
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def named(path: Path, text: str) -> environments.Environment:
    path.write_text(text)
    return environments.named(path, lambda _: None)


@pytest.mark.slow
def test_a_file_is_installed_once_beside_the_torch_that_is_here(
    wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = named(tmp_path / "old.txt", "transformers==4.0\n")
    assert (made.title, made.torch, made.variables) == ("transformers 4.0", "9.9.1", {})
    assert made.folder.parent == environments.cache_folder()
    assert made.folder.name.startswith("requirements-py")
    monkeypatch.setattr(making, "_make", None)  # from now on nothing can be made
    assert named(tmp_path / "again.txt", "transformers==4.0\n") == made
    listed = CliRunner().invoke(env, ["list"]).output
    assert f"requirements: transformers 4.0, torch 9.9.1\n  {made.folder}" in listed
    assert CliRunner().invoke(env, ["remove", "requirements"]).output == "requirements is removed.\n"
    assert not made.folder.exists()


@pytest.mark.slow
def test_a_file_that_names_torch_gets_that_one(wheels: Path, tmp_path: Path) -> None:
    (tmp_path / "base.txt").write_text("torch==9.9.2\n")
    assert named(tmp_path / "new.txt", "-r base.txt\ntransformers\n").torch == "9.9.2"


@pytest.mark.slow
def test_what_pip_cannot_install_is_told_with_its_reason(wheels: Path, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match=r"pip did not install the packages of old\.txt") as caught:
        named(tmp_path / "old.txt", "transformers==3.9\n")
    assert "No matching distribution found for transformers==3.9" in str(caught.value)
    assert not list(environments.cache_folder().glob("*/"))


@pytest.mark.parametrize("text", ["-r missing.txt\n", "-c missing.txt\n"])
def test_a_file_that_is_not_there_is_told(text: str, wheels: Path, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match=r"missing\.txt cannot be read as a requirements file"):
        named(tmp_path / "old.txt", text)


def test_a_folder_without_torch_is_of_no_use(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin/python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    python.chmod(0o755)
    with pytest.raises(EnvironmentFailure, match="torch and numpy cannot be imported in the environment"):
        environments.named(tmp_path, lambda _: None)
