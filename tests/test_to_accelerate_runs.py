"""What a native loop prints, it prints on accelerate too, bit for bit: every fixture of `--to-accelerate` is run.

One process imports the libraries and starts a child for each script, so that all of them take as long as one.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import FIXTURES

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("to_accelerate")]  # they share the runs

CASES = sorted(path.parent for path in FIXTURES.glob("to_accelerate/*/before.py"))
# Several GPUs: the script cannot run without them, but what it becomes can.
ON_GPUS = {"ddp_by_hand"}
# These run on two processes as well: an evaluation, a schedule, files, one process that logs, a group of its own.
TOGETHER = {
    "train_function",
    "tagging",
    "schedule",
    "resume",
    "gan",
    "ddp_by_hand",
    "trainer_class",
    "trainer_class_given",
    "phases",
}
CONVERTED = [case for case in CASES if "RM850" in (case / "findings.txt").read_text(encoding="utf-8")]

RUNNER = """
import gc, json, os, runpy, signal, socket, sys, traceback
import accelerate, torch, torch.utils.data, tqdm.auto, transformers
import torch._dynamo, transformers.modeling_utils  # which each child would import for its optimizer and its model

jobs = json.loads(sys.argv[1])
codes = {}
# torch 2.13 may hang at the end of a process in which a wrapped model is the last that holds gloo's group: the thread
# that ends the group has Python's lock and waits for one that wants it. So no model ends before its process.
kept, wrap = [], torch.nn.parallel.DistributedDataParallel.__init__
def wrapped(self, *args, **kwargs):
    kept.append(self)
    wrap(self, *args, **kwargs)
torch.nn.parallel.DistributedDataParallel.__init__ = wrapped
gc.freeze()  # else each child looks through, and so copies, all that was imported
for name, script, folder, size in jobs:
    os.makedirs(folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    children = []
    for rank in range(size):
        children.append(os.fork())
        if children[-1]:
            continue
        code = 1
        try:
            signal.alarm(120)  # processes that wait for each other in vain
            os.chdir(folder)
            if size > 1:
                here = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "LOCAL_WORLD_SIZE": size}
                os.environ.update({key: str(value) for key, value in here.items()})
                os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
            output = os.open(f"output{rank}.txt", os.O_WRONLY | os.O_CREAT)
            errors = os.open(f"errors{rank}.txt", os.O_WRONLY | os.O_CREAT)
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
    codes[name] = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
print(json.dumps(codes))
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folders in which the scripts were run, with what they printed."""
    root = tmp_path_factory.mktemp("runs")
    jobs = [
        (f"{case.name}/{form}", str(case / f"{form}.py"), str(root / case.name / form), 1)
        for case in CONVERTED
        for form in ("before", "after")
        if form == "after" or case.name not in ON_GPUS
    ]
    jobs += [
        (f"{c.name}/two", str(c / "after.py"), str(root / c.name / "two"), 2) for c in CONVERTED if c.name in TOGETHER
    ]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-c", RUNNER, json.dumps(jobs)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    codes = json.loads(outcome.stdout.splitlines()[-1])
    failed = {name: (root / name / "errors0.txt").read_text() for name, ended in codes.items() if any(ended)}
    assert failed == {}
    return root


def test_there_are_cases() -> None:
    assert len(CONVERTED) >= 12


@pytest.mark.parametrize("case", [c for c in CONVERTED if c.name not in ON_GPUS], ids=lambda case: case.name)
def test_the_converted_loop_prints_the_same_losses(case: Path, runs: Path) -> None:
    before = (runs / case.name / "before" / "output0.txt").read_text(encoding="utf-8")
    after = (runs / case.name / "after" / "output0.txt").read_text(encoding="utf-8")
    assert before.strip()
    assert after == before


@pytest.mark.parametrize("case", [c for c in CONVERTED if c.name in TOGETHER], ids=lambda case: case.name)
def test_two_processes_train_together_and_one_of_them_prints(case: Path, runs: Path) -> None:
    assert (runs / case.name / "two" / "output0.txt").read_text(encoding="utf-8").strip()
    assert (runs / case.name / "two" / "output1.txt").read_text(encoding="utf-8") == ""


def test_two_processes_count_every_row_of_an_evaluation_once(runs: Path) -> None:
    printed = (runs / "train_function" / "two" / "output0.txt").read_text(encoding="utf-8")
    hits = [int(found) for found in re.findall(r"Accuracy: (\d+)/21", printed)]
    assert len(hits) == 3
    assert max(hits) <= 21
    assert len(re.findall(r"\[\d+/3\]", printed)) == 9  # three batches in an epoch, where one process has six


def test_two_processes_follow_the_schedule_of_one(runs: Path) -> None:
    def rates(form: str) -> list[float]:
        text = (runs / "schedule" / form / "output0.txt").read_text(encoding="utf-8")
        return [float(line.split()[-1]) for line in text.splitlines()]

    assert rates("two") == rates("after")[1::2]


def test_two_processes_count_every_row_of_each_phase_once(runs: Path) -> None:
    printed = (runs / "phases" / "two" / "output0.txt").read_text(encoding="utf-8")
    shares = [(phase, float(share)) for phase, share in re.findall(r"(train|val) Loss: \S+ Acc: (\S+)", printed)]
    assert len(shares) == 6
    sizes = {"train": 42, "val": 21}
    assert all(abs(share * sizes[phase] - round(share * sizes[phase])) < 1e-6 <= share for phase, share in shares)


def test_two_processes_pad_their_batches_to_one_length_and_count_every_word_once(runs: Path) -> None:
    one, two = ((runs / "tagging" / form / "output0.txt").read_text(encoding="utf-8") for form in ("after", "two"))
    words = re.findall(r"'seen': (\d+)", two)
    assert len(words) == 3
    assert words == re.findall(r"'seen': (\d+)", one)
