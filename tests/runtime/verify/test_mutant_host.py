"""Forks of one process that run the mutants of a job."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from raymigrate.runtime.verify.arms import INJECTED
from raymigrate.runtime.verify.processes import TimedOut
from scripts.mutant_host import Host

pytestmark = pytest.mark.ray
MARKS = """
import os, sys, random, numpy, torch, transformers
print(getattr(torch, "mark", "no mark"), os.path.basename(os.getcwd()), sys.argv, __name__, os.getppid())
torch.mark = "a mark of another script"
"""


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    made = Host(tmp_path / "host")
    (made.emptied() / "work").mkdir(parents=True)
    yield made
    made.close()


def run(host: Host, code: str, *, timeout: float = 60, **variables: str) -> tuple[int, str]:
    """The exit status of a script and what it prints."""
    folder = host.emptied() / "work"
    folder.mkdir(parents=True)
    (folder / "job.py").write_text(code, encoding="utf-8")
    settings = json.dumps({"trace": str(folder), "storage": str(folder), "pins": {}})
    ours = {"PYTHONPATH": str(INJECTED), "RAYMIGRATE_RECORDER": settings, "CUDA_VISIBLE_DEVICES": ""}
    log = folder.parent / "log.txt"
    status = host.run_logged(
        [sys.executable, "job.py"],
        folder=folder,
        environment={**os.environ, **ours, **variables},
        log=log,
        timeout=timeout,
        watch=lambda: None,
    )
    return status, log.read_text(encoding="utf-8")


def test_a_script_sees_nothing_of_the_one_before_and_its_own_folder_and_end(host: Host) -> None:
    first, again = run(host, MARKS), run(host, MARKS)
    assert first == again  # of one process, whose number is printed
    assert first[1].startswith("no mark work ['job.py'] __main__ ")
    status, printed = run(host, "raise ValueError('wrong column')")
    assert status == 1
    assert printed.rstrip().endswith("ValueError: wrong column")
    assert run(host, "import sys; sys.exit(3)")[0] == 3
    assert run(host, MARKS) == first

    # Other variables need a process of their own: what was imported may have read them.
    assert run(host, MARKS, OMP_NUM_THREADS="1")[1].rpartition(" ")[2] != first[1].rpartition(" ")[2]

    with pytest.raises(TimedOut):
        run(host, "import time; time.sleep(600)", timeout=1)
    assert run(host, "print('goes on')") == (0, "goes on\n")
