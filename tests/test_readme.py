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


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_session_is_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(EXAMPLE / "before.py", tmp_path / "train.py")
    monkeypatch.chdir(tmp_path)
    outcome = CliRunner().invoke(main, ["--verbose", "train.py"])
    assert blocks("console")[0] == f"$ raymigrate --verbose train.py\n{outcome.stdout}{outcome.stderr}"


@pytest.mark.parametrize(
    ("number", "case"),
    [*enumerate(["transformers_trainer/readme_example", "to_ray/module_level", "to_accelerate/module_level"])],
)
def test_the_differences_are_real(number: int, case: str) -> None:
    before, after = ((FIXTURES / case / name).read_text().splitlines() for name in ("before.py", "after.py"))
    real = [line for line in difflib.ndiff(before, after) if line[0] in "+- "]
    shown = [line for line in blocks("diff")[number].splitlines() if line.strip() not in ("", "...")]
    marks = {line[0] + line[2:] for line in real}
    assert [line for line in shown if line not in marks] == []


def test_the_commands_exist() -> None:
    for name in re.findall(r"^sh (scripts/\w+)", README, re.MULTILINE):
        assert (ROOT / name).exists()


def test_the_files_that_it_speaks_of_exist() -> None:
    for path in re.findall(r"`((?:raymigrate|fixtures|scripts)/[\w/.]*)`", README):
        assert (ROOT / path).exists(), path
