"""Runs converted jobs on real Ray workers, against the offline hub."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from raymigrate.runtime.hub import hub_environment

DRIVER = Path(__file__).with_name("recording_driver.py")


@dataclass(frozen=True)
class Outcome:
    """What a job left behind.

    Args:
        metrics: `result.metrics`.
        checkpoint: Folder of `result.checkpoint`, or None.
        history: Metrics of each retained checkpoint, oldest first.
        log: What it printed.
    """

    metrics: dict[str, Any] | None
    checkpoint: Path | None
    history: list[dict[str, Any]]
    log: str


def run_job(script: Path, hub_url: str, folder: Path, *arguments: str, timeout: float = 300) -> Outcome:
    """Runs a training script with its own Ray, home and caches below `folder`; nothing of it outlives the call.

    Raises:
        AssertionError: If it fails or takes longer than `timeout` seconds; the message ends with its log.
    """
    outcome_path = folder / "outcome.json"
    command = [sys.executable, str(DRIVER), str(outcome_path), str(script), *arguments]
    code, log = run_python(command, hub_url, folder, timeout=timeout)
    assert code == 0 and outcome_path.exists(), log[-6000:]
    outcome = json.loads(outcome_path.read_text(encoding="utf-8"))
    checkpoint = Path(outcome["checkpoint"]) if outcome["checkpoint"] else None
    return Outcome(outcome["metrics"], checkpoint, outcome["history"], log)


def run_python(command: list[str], hub_url: str, folder: Path, *, timeout: float = 300) -> tuple[int, str]:
    """Runs a command with its own Ray, home and caches below `folder`, which is its working directory too.

    Returns:
        Its exit code, not 0 if it took longer than `timeout` seconds, and what it printed.
    """
    ray_folder = tempfile.mkdtemp(prefix="rm-", dir="/tmp")  # Ray's sockets need a short path
    environment = {
        **os.environ,
        **hub_environment(hub_url, folder / "huggingface"),
        "HOME": str(folder),
        "RAY_TMPDIR": ray_folder,
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_raylet_start_wait_time_s": "300",  # on a loaded machine Ray's 30 seconds are not enough
        "RAY_AUTH_MODE": "disabled",
        # Two workers and Ray Data need more than the two CPUs of a small machine; they are only counted, not used.
        "RAY_OVERRIDE_RESOURCES": '{"CPU": 8}',
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        log, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        log = process.communicate()[0] + f"\nstopped after {timeout} s"
    finally:
        shutil.rmtree(ray_folder, ignore_errors=True)
    return process.returncode, log
