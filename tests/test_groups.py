"""Tests that share what is dear run in one process: pytest-xdist keeps the groups together.

With pytest 9.2, pytest-xdist 3.8.0 does not (it writes `_nodeid` of a test, which has none any more), and says nothing:
each process then made the runs of `verify` for itself that all were to share.
"""

import os
import subprocess
import sys
from pathlib import Path

TESTS = """\
import os, pytest, time

GROUPS = [pytest.param(number, marks=pytest.mark.xdist_group(f"group {number % 2}")) for number in range(8)]

@pytest.mark.parametrize("number", GROUPS)
def test_it(number):
    time.sleep(0.1)
    with open("processes.txt", "a") as file:
        file.write(f"{number % 2} {os.environ['PYTEST_XDIST_WORKER']}\\n")
"""


def test_a_group_runs_in_one_process(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "3", "--dist", "loadgroup", "-p", "no:cacheprovider"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    ran = (tmp_path / "processes.txt").read_text().splitlines()
    assert len(ran) == 8
    assert len({line.split()[0] for line in ran}) == len(set(ran)) == 2
