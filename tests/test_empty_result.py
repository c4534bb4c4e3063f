"""Files of which nothing is left: an empty text is a result like any other."""

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from raymigrate.cli import main

ONLY = "from ray.air.checkpoint import Checkpoint"
TEXTS = [ONLY, f"{ONLY}\n", "from ray.air import session, Checkpoint", f"\ufeff{ONLY}"]


def invoke(*arguments: object, data: bytes | None = None) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=data, catch_exceptions=False)


@pytest.fixture(params=TEXTS)
def script(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("only.py").write_text(request.param, encoding="utf-8")
    return Path("only.py")


def left(data: bytes) -> bytes:
    return data.removeprefix(b"\xef\xbb\xbf").strip()


@pytest.mark.parametrize("options", [(), ("--todo",), ("--jobs", "2"), ("--output-format", "sarif")], ids=" ".join)
def test_it_is_written_and_a_second_run_finds_nothing(script: Path, options: tuple[str, ...]) -> None:
    assert invoke(*options, script).exit_code == 0
    assert left(script.read_bytes()) == b""
    again = invoke(*options, script)
    assert again.exit_code == 0
    assert "RM301" not in again.stdout or "sarif" in options


@pytest.mark.parametrize("options", [("--check",), ("--diff",), ("--check", "--output-format", "sarif")], ids=" ".join)
def test_it_would_change(script: Path, options: tuple[str, ...]) -> None:
    before = script.read_bytes()
    result = invoke(*options, script)
    assert result.exit_code == 1
    assert "1 file would be converted" in result.stderr or "fixes" in result.stdout
    assert script.read_bytes() == before


def test_git_applies_the_diff(script: Path) -> None:
    subprocess.run(["git", "apply", "-"], input=invoke("--diff", script).stdout_bytes, check=True)
    assert left(script.read_bytes()) == b""


def test_stdin_gives_nothing_back(script: Path) -> None:
    assert left(invoke("-", data=script.read_bytes()).stdout_bytes) == b""


def test_the_question_is_asked_and_the_answer_heeded(script: Path) -> None:
    before = script.read_bytes()
    invoke("--interactive", script, data=b"n\n")
    assert script.read_bytes() == before
    invoke("--interactive", script, data=b"y\n")
    assert left(script.read_bytes()) == b""
