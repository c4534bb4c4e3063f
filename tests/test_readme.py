"""The README stays true: its session and its difference are what the tool does today."""

import difflib
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.cli import main
from tests.conftest import FIXTURES, ROOT

README = (ROOT / "README.md").read_text()
EXAMPLE = FIXTURES / "transformers_trainer/readme_example"


def block(language: str) -> str:
    return re.search(rf"```{language}\n(.*?)```", README, re.DOTALL)[1]


def test_the_session_is_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(EXAMPLE / "before.py", tmp_path / "train.py")
    monkeypatch.chdir(tmp_path)
    outcome = CliRunner().invoke(main, ["--verbose", "train.py"])
    assert block("console") == f"$ raymigrate --verbose train.py\n{outcome.stdout}{outcome.stderr}"


def test_the_difference_is_real() -> None:
    before, after = ((EXAMPLE / name).read_text().splitlines() for name in ("before.py", "after.py"))
    real = [line for line in difflib.ndiff(before, after) if line[0] in "+- "]
    shown = [line for line in block("diff").splitlines() if line.strip()]
    marks = {line[0] + line[2:] for line in real}
    assert [line for line in shown if line not in marks] == []


def test_the_commands_exist() -> None:
    for name in re.findall(r"^sh (scripts/\w+)", README, re.MULTILINE):
        assert (ROOT / name).exists()


def test_the_files_that_it_speaks_of_exist() -> None:
    for path in re.findall(r"`((?:raymigrate|fixtures|scripts)/[\w/.]*)`", README):
        assert (ROOT / path).exists(), path
