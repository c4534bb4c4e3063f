"""Runs scripts and converted jobs on real Ray workers, against the offline hub, each with folders of its own."""

import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from raymigrate.runtime.hub import hub_environment
from raymigrate.runtime.verify.arms import INJECTED
from raymigrate.runtime.verify.processes import TimedOut, run_logged

DRIVER = Path(__file__).with_name("recording_driver.py")
# Where tests keep what takes long to make: the hub's models, environments with old Ray, pip's downloads. The names hold
# a hash of what they were made from.
CACHE = Path(__file__).parent.parent / "build" / "cache"
STARTUP = Path(__file__).with_name("startup")
# For every Ray that a test starts. docs/contributing.md tells what the first five save.
RAY_SETTINGS = {
    "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "0.2",  # how often a run's controller looks at its workers; Ray's default is 2
    "RAY_prestart_worker_first_driver": "0",  # workers that a run never uses: those of a trainer have other variables
    "RAY_TRAIN_ENABLE_PREEMPTION_WATCHER": "0",  # a process that asks whether a cloud is about to take a node away
    "RAYMIGRATE_FORKED_WORKERS": "1",  # workers are forked from a process that has imported what each of them would
    "RAY_worker_niceness": "0",  # Ray's default is 15: behind everything else that the machine does
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "disabled",
    # On a loaded machine Ray's own limits, 30 and 60 seconds, are not enough.
    "RAY_raylet_start_wait_time_s": "300",
    "RAY_worker_register_timeout_seconds": "300",
    "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S": "300",
}


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


def run_job(script: Path, hub_url: str, folder: Path, *arguments: str, timeout: float = 600) -> Outcome:
    """Runs a training script as `run_python` does.

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


def run_python(command: list[str], hub_url: str, folder: Path, *, timeout: float = 600) -> tuple[int, str]:
    """Runs a command with its own Ray, home, results, caches and temporary folder, and ends all that it started.

    Args:
        command: Program and arguments.
        hub_url: Where the offline hub answers.
        folder: Its working directory; its home and log are put there too.
        timeout: Seconds that it may take.

    Returns:
        Its exit code, not 0 if it took longer than that, and what it printed.
    """
    log = folder / "log.txt"
    with short_folder() as temporary:
        try:
            code = run_logged(
                command,
                folder=folder,
                environment=run_environment(hub_url, folder / "home", temporary),
                log=log,
                timeout=timeout,
                watch=lambda: None,
            )
            ending = ""
        except TimedOut:
            code, ending = 1, f"\nstopped after {timeout} s"
    return code, log.read_text(encoding="utf-8", errors="replace") + ending


def short_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for temporary files, among them sockets, whose paths may have 107 bytes."""
    return tempfile.TemporaryDirectory(prefix="rm-", dir="/tmp", ignore_cleanup_errors=True)


def python_path() -> str:
    """PYTHONPATH with what starts in every process of a run; see tests/startup/sitecustomize.py."""
    return os.pathsep.join(filter(None, (str(STARTUP), str(INJECTED), os.environ.get("PYTHONPATH"))))


def run_environment(hub_url: str, home: Path, temporary: str) -> dict[str, str]:
    """All variables of a run; `run_logged` adds Ray's folder."""
    home.mkdir()
    # The XDG variables name places in the user's home.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    return {
        **inherited,
        **RAY_SETTINGS,
        **hub_environment(hub_url, home / "huggingface"),
        "PYTHONPATH": python_path(),
        "HOME": str(home),
        "TMPDIR": temporary,
        # Two workers and Ray Data need more than the two CPUs of a small machine; they are only counted, not used.
        "RAY_OVERRIDE_RESOURCES": '{"CPU": 8}',
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }
