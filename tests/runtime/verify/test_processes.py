"""Arms that crash, hang or do nothing; and that nothing of them stays behind."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from raymigrate.runtime.verify import verification
from raymigrate.runtime.verify.arms import Arm, Overrides, Run, own_ray_variables, run_arm
from raymigrate.runtime.verify.errors import VerifyError
from raymigrate.runtime.verify.processes import RUN_VARIABLE, TimedOut, log_tail, run_logged
from tests.runtime.verify.runs import made_up


def arm_of(folder: Path, code: str, *, timeout: float = 60) -> Run:
    """Runs code as arm C."""
    (folder / "script").mkdir()
    script = folder / "script" / "job.py"
    script.write_text(code)
    return run_arm(
        Arm("C", script),
        "C",
        folder / "run",
        arguments=(),
        pins={},
        overrides=Overrides(),
        timeout=timeout,
        progress=lambda text: None,
    )


@pytest.mark.parametrize(
    ("code", "message", "log"),
    [
        (
            "raise ValueError('the learning rate is missing')",
            "ended with exit status 1",
            "the learning rate is missing",
        ),
        ("import os; print('out of memory', flush=True); os.kill(os.getpid(), 9)", "exit status -9", "out of memory"),
        ("print('training')", "ran no Ray train function", "training"),
    ],
)
def test_an_arm_that_fails_gives_no_verdict_but_the_end_of_its_log(
    code: str, message: str, log: str, tmp_path: Path
) -> None:
    with pytest.raises(VerifyError) as caught:
        arm_of(tmp_path, code)
    assert message in str(caught.value)
    assert log in str(caught.value)
    assert "Arm C (converted script, current libraries)" in str(caught.value)


def test_an_arm_that_hangs_is_stopped(tmp_path: Path) -> None:
    started = time.monotonic()
    with pytest.raises(VerifyError, match=r"was stopped after 2 s \(see --timeout\)"):
        arm_of(tmp_path, "import time; print('waiting for a worker', flush=True); time.sleep(600)", timeout=2)
    assert time.monotonic() - started < 30


def test_of_workers_that_wait_for_each_other_it_is_told_how_far_they_came(tmp_path: Path) -> None:
    code = (
        "import os, json, time\n"
        "folder = json.loads(os.environ['RAYMIGRATE_RECORDER'])['trace']\n"
        "step = {'losses': [], 'gradient_norm': 1.0, 'learning_rates': [], 'batches': [], 'time': 1.0}\n"
        "for rank, steps in enumerate((4, 3)):\n"
        "    events = [{'kind': 'start', 'time': 0.0, 'pid': rank}]\n"
        "    events += [{'kind': 'step', 'step': number, **step} for number in range(1, steps + 1)]\n"
        "    with open(f'{folder}/events-{rank}.jsonl', 'w') as stream:\n"
        "        stream.writelines(json.dumps({**event, 'rank': rank}) + '\\n' for event in events)\n"
        "time.sleep(600)"
    )
    with pytest.raises(VerifyError, match="until then: 4 on rank 0, 3 on rank 1"):
        arm_of(tmp_path, code, timeout=2)


def test_a_run_that_takes_much_longer_than_another_arm_is_not_waited_for() -> None:
    runs = [replace(made_up("B"), seconds=60.0), replace(made_up("B-killed"), seconds=90.0)]
    assert verification._patience(3600, []) == (3600, "see --timeout")
    assert verification._patience(3600, runs) == (720, "B-killed took 90 s")
    assert verification._patience(3600, [replace(runs[0], seconds=5.0)]) == (300, "B took 5 s")
    assert verification._patience(200, runs) == (200, "see --timeout")


def test_a_recorder_that_fails_is_named(tmp_path: Path) -> None:
    code = (
        "import os, json\n"
        "folder = json.loads(os.environ['RAYMIGRATE_RECORDER'])['trace']\n"
        "open(folder + '/fault-1.txt', 'w').write('Traceback\\nKeyError: 3')\n"
    )
    with pytest.raises(VerifyError, match=r"could not be recorded \(KeyError: 3\)"):
        arm_of(tmp_path, code)


def test_processes_that_left_the_group_are_ended_too(tmp_path: Path) -> None:
    """As Ray's daemons do: a session of their own, no parent that waits."""
    code = (
        "import subprocess, sys, os\n"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)\n"
        "open('pid', 'w').write(f\"{p.pid} {os.environ['RAY_TMPDIR']}\")\n"
    )
    status = run_logged(
        [sys.executable, "-c", code],
        folder=tmp_path,
        environment=dict(os.environ),
        log=tmp_path / "log",
        timeout=60,
        watch=lambda: None,
    )
    pid, ray_folder = (tmp_path / "pid").read_text().split()
    assert status == 0
    assert not psutil.pid_exists(int(pid)) or psutil.Process(int(pid)).status() == psutil.STATUS_ZOMBIE
    assert not Path(ray_folder).exists()


def test_other_processes_are_left_alone(tmp_path: Path) -> None:
    other = psutil.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"], env={**os.environ, RUN_VARIABLE: "rm-another"}
    )
    try:
        with pytest.raises(TimedOut):
            run_logged(
                [sys.executable, "-c", "import time; time.sleep(600)"],
                folder=tmp_path,
                environment=dict(os.environ),
                log=tmp_path / "log",
                timeout=1,
                watch=lambda: None,
            )
        assert other.is_running()
    finally:
        other.kill()
        other.wait()


def test_the_end_of_a_log_is_readable(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("first\n" * 100 + "\x1b[31merror\x1b[0m\n 10%\r 50%\r100%\n\n")
    assert log_tail(log).splitlines()[-2:] == ["error", "100%"]
    assert len(log_tail(log).splitlines()) == 30


@pytest.mark.parametrize(
    ("code", "workers", "needed"),
    [
        ("ScalingConfig(num_workers=200)", None, 206),
        ("{'num_workers': 300}", None, 306),
        ("ScalingConfig(num_workers=200)", 400, 406),
    ],
)
def test_ray_counts_enough_cpus_for_the_workers(code: str, workers: int | None, needed: int, tmp_path: Path) -> None:
    """Else the job would wait for ever on a machine with fewer."""
    script = tmp_path / "train.py"
    script.write_text(code)
    variables = own_ray_variables(Arm("C", script), Overrides(workers=workers))
    assert variables["RAY_OVERRIDE_RESOURCES"] == f'{{"CPU": {needed}}}'
