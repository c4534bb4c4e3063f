"""How a diff names files, so that `git apply` finds them; tests/test_cli.py has what it does to their bytes."""

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.cli import main

LEGACY = "from ray.air import session\n\nsession.report({})\n"


def apply_diff_of(path: str) -> None:
    patch = CliRunner().invoke(main, ["--diff", path]).stdout_bytes
    subprocess.run(["git", "apply", "-"], input=patch, check=True)


def is_converted(path: str) -> bool:
    return CliRunner().invoke(main, ["--check", path]).exit_code == 0


@pytest.mark.parametrize("name", ["a b.py", "größe.py", 'quo"te.py', "back\\slash.py", "tab\t.py", "line\nfeed.py"])
def test_a_file_may_have_any_name(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(LEGACY)
    apply_diff_of(".")
    assert is_converted(name)


@pytest.mark.parametrize("given", ["link.py", "linked/train.py", "linked", "{here}/real/train.py", "real/../link.py"])
def test_a_file_may_be_given_by_a_link_or_absolutely(
    tmp_path: Path, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A patch of the link itself would be refused: what it leads to is converted."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real/train.py").write_text(LEGACY)
    (tmp_path / "link.py").symlink_to("real/train.py")
    (tmp_path / "linked").symlink_to("real")
    monkeypatch.chdir(tmp_path)
    apply_diff_of(given.format(here=tmp_path))
    assert is_converted("real")
    assert (tmp_path / "link.py").is_symlink()


def test_a_file_outside_the_folder_keeps_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(LEGACY)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    diff = CliRunner().invoke(main, ["--diff", f"{tmp_path}/train.py"]).stdout
    assert diff.startswith(f"--- a{tmp_path}/train.py\n+++ b{tmp_path}/train.py\n")
