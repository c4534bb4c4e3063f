"""Nothing that the tests start reads or writes the user's home; scripts/test checks that of the whole suite too."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

CASE = "tests/test_before_and_after.py::test_the_legacy_script_fails_and_its_twin_works[{}]"
RUNS = [
    CASE.format("torch_trainer/config_with_default-after"),  # Ray Train, results in ~/ray_results
    CASE.format("libraries/tokenizers_and_columns-after"),  # models and datasets of the hub
    "tests/runtime/verify/test_command.py::test_an_arm_that_fails_gives_exit_code_2_and_its_log",
]


@pytest.mark.ray
@pytest.mark.rotating(2)
@pytest.mark.parametrize("kind", ["stays as it is", "where not even root can write"])
def test_no_test_needs_the_home_of_the_user(kind: str, tmp_path: Path) -> None:
    """One is empty, so that there is nothing to be read; nobody but root may write there, and nobody does."""
    home = tmp_path / "user" if kind == "stays as it is" else Path("/dev/null/home")
    if kind == "stays as it is":
        home.mkdir(mode=0o500)
    done = run_tests(home)
    assert done.returncode == 0, done.stdout[-6000:]
    assert not home.is_dir() or list(home.iterdir()) == []


def run_tests(home: Path) -> subprocess.CompletedProcess[str]:
    """Runs some tests as a user with this home."""
    command = [sys.executable, "-m", "pytest", "--all-runs", "-p", "no:cacheprovider", *RUNS]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "PYTEST_"))}
    environment |= {"HOME": str(home)}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
