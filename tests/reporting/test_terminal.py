"""Colour and progress."""

import io
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.cli import main
from raymigrate.reporting import progress
from raymigrate.reporting.progress import with_progress
from raymigrate.reporting.terminal import use_colour
from tests.conftest import FIXTURES


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def legacy(tmp_path: Path) -> str:
    """A script in a folder of its own: beside it is nothing to search."""
    return str(shutil.copy(FIXTURES / "transformers_trainer/readme_example/before.py", tmp_path))


@pytest.mark.parametrize(
    ("choice", "variables", "expected"),
    [
        ("auto", {}, None),
        ("auto", {"NO_COLOR": "1"}, False),
        ("auto", {"NO_COLOR": ""}, None),
        ("auto", {"TERM": "dumb"}, False),
        ("auto", {"FORCE_COLOR": "1"}, True),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ("always", {"NO_COLOR": "1"}, True),
        ("never", {"FORCE_COLOR": "1"}, False),
    ],
)
def test_the_option_beats_the_variables(
    choice: str, variables: dict[str, str], expected: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert use_colour(choice) is expected


def test_a_pipe_gets_no_colour_unless_it_is_asked_for(legacy: str) -> None:
    assert "\x1b[" not in CliRunner().invoke(main, ["--check", legacy]).stdout
    assert "\x1b[" in CliRunner().invoke(main, ["--check", "--color", "always", legacy]).stdout


@pytest.mark.parametrize(("variable", "coloured"), [("FORCE_COLOR", True), ("NO_COLOR", False)])
def test_the_variables_hold_for_all_commands(variable: str, coloured: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "1")
    is_terminal = not coloured
    assert ("\x1b[" in CliRunner().invoke(main, ["explain", "RM203"], color=is_terminal).stdout) is coloured


def test_documents_are_never_coloured(legacy: str) -> None:
    arguments = ["--check", "--color", "always", "--output-format", "json", legacy]
    assert "\x1b[" not in CliRunner().invoke(main, arguments).stdout


def test_findings_are_never_wrapped(legacy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A finding is one line in a pipe, however narrow the terminal claims to be."""
    lines = CliRunner().invoke(main, ["--check", legacy]).stdout
    monkeypatch.setenv("COLUMNS", "20")
    assert CliRunner().invoke(main, ["--check", legacy]).stdout == lines


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_long_run_shows_its_progress_and_takes_it_away(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    assert list(with_progress("abc", 3)) == ["a", "b", "c"]
    assert stream.getvalue().split(progress.CLEAR_LINE) == ["", "1 of 3 files", "2 of 3 files", "3 of 3 files", ""]


def test_a_short_run_shows_none(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    assert list(with_progress("abc", 3)) == ["a", "b", "c"]
    assert stream.getvalue() == ""


def test_a_pipe_gets_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    assert list(with_progress("abc", 3)) == ["a", "b", "c"]
    assert stream.getvalue() == ""
