"""Streams that are closed, and modules of the current folder: the command as a shell starts it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.test_bad_input import SMALL

RUN = f"{sys.executable} -m raymigrate"


@pytest.fixture(autouse=True)
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "x.py"
    path.write_text(SMALL)
    return path


def shell(command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (f"{RUN} x.py >&-", "Standard output is closed"),
        (f"{RUN} --check x.py >&-", "Standard output is closed"),
        (f"{RUN} --diff x.py >&-", "Standard output is closed"),
        (f"{RUN} rules >&-", "Standard output is closed"),
        (f"{RUN} - <&-", "Standard input is closed"),
        (f"{RUN} explain - <&-", "Standard input is closed"),
        (f"{RUN} --interactive x.py <&-", "Standard input is closed"),
        (f"{RUN} x.py >&- 2>&-", ""),
    ],
)
def test_a_closed_stream_is_told_in_a_sentence(command: str, message: str, script: Path) -> None:
    outcome = shell(command)
    assert outcome.returncode == 2
    assert message in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert script.read_text() == SMALL


def test_without_stderr_the_work_is_done(script: Path) -> None:
    assert shell(f"{RUN} x.py 2>&-").returncode == 0
    assert "ray.train.report" in script.read_text()


def test_modules_of_the_current_folder_are_not_run(tmp_path: Path) -> None:
    for name in ("re", "click", "libcst", "yaml", "ast", "json", "packaging", "numpy", "difflib", "raymigrate_x"):
        (tmp_path / f"{name}.py").write_text(f"open('PWNED {name}', 'w')\n")
    outcome = shell(f"{RUN} --jobs 2 x.py")
    assert outcome.returncode == 0, outcome.stderr
    assert not list(tmp_path.glob("PWNED*"))


@pytest.mark.parametrize("variables", ["LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0", "PYTHONIOENCODING=ascii"])
@pytest.mark.parametrize("options", ["--check", "--diff", "--check --output-format json", "--check --report r.md"])
def test_a_terminal_that_knows_ascii_only(tmp_path: Path, variables: str, options: str) -> None:
    (tmp_path / "é 训练.py").write_text(SMALL.replace("{}", '{"é": 1}') + "x = session.get_trial_name(é)\n")
    outcome = shell(f"{variables} {RUN} {options} .")
    assert outcome.returncode == 1, outcome.stderr
