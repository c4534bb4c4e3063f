"""What a native loop prints, it prints on accelerate too, bit for bit: every fixture of `--to-accelerate` is run.

One process imports the libraries and starts a child for each script, so that all of them take as long as one.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import FIXTURES

CASES = sorted(path.parent for path in FIXTURES.glob("to_accelerate/*/before.py"))
# Several GPUs: the script cannot run without them, but what it becomes can.
ON_GPUS = {"ddp_by_hand"}
CONVERTED = [case for case in CASES if "RM850" in (case / "findings.txt").read_text(encoding="utf-8")]

RUNNER = """
import json, os, runpy, sys, traceback
import accelerate, torch, torch.utils.data, tqdm.auto, transformers

jobs = json.loads(sys.argv[1])
codes = {}
for name, script, folder in jobs:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.makedirs(folder)
            os.chdir(folder)
            output = os.open("output.txt", os.O_WRONLY | os.O_CREAT)
            errors = os.open("errors.txt", os.O_WRONLY | os.O_CREAT)
            os.dup2(output, 1), os.dup2(errors, 2)
            torch.set_num_threads(1)
            sys.argv = [script]
            runpy.run_path(script, run_name="__main__")
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush(), sys.stderr.flush()
            os._exit(code)
    codes[name] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(json.dumps(codes))
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folders in which the scripts were run, with what they printed."""
    root = tmp_path_factory.mktemp("runs")
    jobs = [
        (f"{case.name}/{form}", str(case / f"{form}.py"), str(root / case.name / form))
        for case in CONVERTED
        for form in ("before", "after")
        if form == "after" or case.name not in ON_GPUS
    ]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-c", RUNNER, json.dumps(jobs)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    codes = json.loads(outcome.stdout.splitlines()[-1])
    failed = {name: (root / name / "errors.txt").read_text() for name, code in codes.items() if code}
    assert failed == {}
    return root


def test_there_are_cases() -> None:
    assert len(CONVERTED) >= 12


@pytest.mark.parametrize("case", [c for c in CONVERTED if c.name not in ON_GPUS], ids=lambda case: case.name)
def test_the_converted_loop_prints_the_same_losses(case: Path, runs: Path) -> None:
    before = (runs / case.name / "before" / "output.txt").read_text(encoding="utf-8")
    after = (runs / case.name / "after" / "output.txt").read_text(encoding="utf-8")
    assert before.strip()
    assert after == before
