"""The arms: which script runs where, and how one is run."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from raymigrate.runtime.verify.cluster import Cluster
from raymigrate.runtime.verify.copies import copied
from raymigrate.runtime.verify.errors import VerifyError
from raymigrate.runtime.verify.failures import explained, last_error
from raymigrate.runtime.verify.processes import TimedOut, run_logged
from raymigrate.runtime.verify.scripts import runnable
from raymigrate.runtime.verify.trace import Trace, read_trace, steps_done

INJECTED = Path(__file__).parent.parent / "inject"
NUM_WORKERS = re.compile(r"num_workers[\"']?\s*[=:]\s*(\d{1,3})\b")
JOB_VARIABLES = {
    "RAY_DEDUP_LOGS": "0",
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "PYTHONUNBUFFERED": "1",
}
# What an arm would wait for and nobody needs; the environment's own values win.
QUICKER = {
    "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "0.2",  # how often a run's controller looks at its workers; Ray's default is 2
    "RAY_prestart_worker_first_driver": "0",  # workers that a run never uses: those of a trainer have other variables
    "RAY_TRAIN_ENABLE_PREEMPTION_WATCHER": "0",  # a process that asks whether a cloud is about to take a node away
    "RAY_worker_niceness": "0",  # Ray's default is 15: behind everything else that the machine does
}
# Forks workers from a process that has imported what each of them would (`raymigrate_workers`): on the CPU, and with
# the Ray and the libraries that this was made for.
FORKED_WORKERS = "RAYMIGRATE_FORKED_WORKERS"
WORK = "work"  # folder in which a script runs
TITLES = {
    "P": "original script in processes of its own",
    "Q": "the other script in processes of its own",
    "A": "original script, old Ray and old libraries",
    "O": "converted script (Ray only), current Ray and old libraries",
    "B": "original script under the stand-in, current libraries",
    "C": "converted script, current libraries",
}


# The programs that start a plain script, and what Python runs in their place: an environment that borrows the packages
# of another has no programs of its own.
LAUNCHERS = {
    "python": (),
    "torchrun": ("-m", "torch.distributed.run"),
    "accelerate": ("-m", "accelerate.commands.accelerate_cli"),
}
# Options of torchrun that say where its processes meet.
MEETING = ("--standalone", "--rdzv", "--master", "--nnodes", "--node")


def launcher(words: tuple[str, ...]) -> list[str]:
    """What Python runs in front of a script, for a command line that begins with one of LAUNCHERS."""
    program, *options = words
    meet_anywhere = program == "torchrun" and not any(
        option.replace("_", "-").startswith(MEETING) for option in options
    )
    # Else all of a machine's torchruns would meet at one port.
    return [*LAUNCHERS[program], *(["--standalone"] if meet_anywhere else []), *options]


@dataclass(frozen=True)
class Overrides:
    """What is asked of every arm alike; see `raymigrate_recorder.settings`."""

    workers: int | None = None
    device: str | None = None
    precision: str | None = None
    max_steps: int | None = None


@dataclass(frozen=True)
class Arm:
    """One way to run the job.

    Args:
        letter: "P", "Q", "A", "O", "B" or "C".
        script: What is run, in a folder of its own.
        python: The interpreter of its environment.
        variables: What its environment, its data and its device ask for.
        notes: What a reader of the report should know.
        processes: How many of its own it trains in, with no Ray around them; 0 for a script that starts Ray itself.
        launch: What starts it in place of torchrun, a word each; it says in how many processes then.
    """

    letter: str
    script: Path
    python: Path = field(default_factory=lambda: Path(sys.executable))
    variables: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    processes: int = 0
    launch: tuple[str, ...] = ()

    @property
    def launcher(self) -> list[str]:
        """What Python runs in front of the script."""
        if not self.processes:
            return []
        return launcher(self.launch or ("torchrun", f"--nproc-per-node={self.processes}"))


@dataclass(frozen=True)
class Run:
    """An arm whose training ran to its end.

    Args:
        name: The arm's letter; "C2" for a repetition, "C-killed" when a worker was killed.
        arm: What was run.
        trace: What the recorder saw.
        seconds: Wall-clock time.
        log: Its output.
        status: Exit status of the script.
        error: What ended the script after its training, in one line; empty if nothing did.
        pins: Names of the pins that were on.
        kept: How many of Ray's checkpoints are left when it is over; None if that is not known.
    """

    name: str
    arm: Arm
    trace: Trace
    seconds: float
    log: Path
    status: int = 0
    error: str = ""
    pins: tuple[str, ...] = ()
    kept: int | None = None


def run_arm(
    arm: Arm,
    name: str,
    folder: Path,
    *,
    arguments: tuple[str, ...],
    pins: Mapping[str, Any],
    overrides: Overrides,
    kill: Mapping[str, int] | None = None,
    timeout: float,
    progress: Callable[[str], None],
    cluster: Cluster | None = None,
    limit: str = "see --timeout",
    run_here: Callable[..., int] = run_logged,
) -> Run:
    """Runs an arm with the recorder in it.

    Args:
        arm: What to run.
        name: Name of the run.
        folder: New folder for its trace, results and log.
        arguments: Command-line arguments of the script.
        pins: Pin -> value.
        overrides: The same for every arm.
        kill: `{"rank": r, "step": n}`, or None.
        timeout: Seconds.
        progress: Called with a few words on how far it is.
        cluster: Where to run it; None for a Ray of its own on this machine.
        limit: Where the timeout comes from.
        run_here: Runs the command on this machine, as `run_logged` does.

    Raises:
        VerifyError: If it fails, takes too long or leaves no trace.
    """
    trace, log = folder / "trace", folder / "log.txt"
    trace.mkdir(parents=True)
    # Each run begins from the same files, whatever one before it wrote.
    script = runnable(copied(arm.script, folder / WORK))
    settings = {
        "trace": str(trace),
        "storage": str(folder / "storage"),
        "pins": dict(pins),
        "kill": kill,
        "cluster": cluster is not None,
        "plain": script.name if arm.processes else "",
        **asdict(overrides),
    }
    variables = {**arm.variables, **_pinned_variables(pins, folder), "RAYMIGRATE_RECORDER": json.dumps(settings)}
    started = time.monotonic()
    if cluster is None:
        variables |= own_ray_variables(arm, overrides)
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, (str(INJECTED), os.environ.get("PYTHONPATH"))))
        python, run = str(arm.python), partial(run_here, environment={**os.environ, **variables})
    else:
        variables |= {**JOB_VARIABLES, "PYTHONPATH": str(shutil.copytree(INJECTED, folder / "inject"))}
        python, run = "python", partial(cluster.run_logged, variables=variables)
    try:
        status = run(
            [python, *arm.launcher, script.name, *arguments],
            folder=script.parent,
            log=log,
            timeout=timeout,
            watch=lambda: progress(f"step {steps_done(trace)}"),
        )
    except TimedOut:
        raise ArmFailure(name, f"was stopped after {timeout:g} s ({limit})", arm, log, _where_it_hung(trace)) from None
    seconds = time.monotonic() - started
    for fault in sorted(trace.glob("fault-*.txt")):
        reason = fault.read_text(encoding="utf-8").strip().splitlines()[-1]
        raise ArmFailure(name, f"could not be recorded ({reason}); please report it", arm, log)
    recorded = read_trace(trace)
    if status and not recorded.complete:
        raise ArmFailure(name, f"ended with exit status {status}", arm, log)
    if not any(attempt.steps for attempts in recorded.ranks.values() for attempt in attempts):
        raise ArmFailure(name, "made no optimizer step" if recorded.ranks else "ran no Ray train function", arm, log)
    raised = last_error(log) if status else None
    error = raised.text.splitlines()[0] if raised else ""
    return Run(name, arm, recorded, seconds, log, status, error, tuple(pins), kept_checkpoints(folder / "storage"))


def _where_it_hung(folder: Path) -> str:
    """How far the workers of a run came that did not end, one sentence; empty if they made no step."""
    steps = {rank: len(attempts[-1].steps) for rank, attempts in read_trace(folder).ranks.items()}
    if not any(steps.values()):
        return ""
    told = ", ".join(f"{made} on rank {rank}" for rank, made in steps.items())
    waiting = " They wait for each other where one has fewer batches than another, or reports less often."
    return f"Optimizer steps until then: {told}.{waiting if len(steps) > 1 else ''}"


def kept_checkpoints(storage: Path) -> int:
    """The number of checkpoints in the folder of the results: Ray deletes those that a run is not to keep."""
    found = (path for path in storage.rglob("checkpoint_*") if path.is_dir())
    return sum(not path.parent.name.startswith("checkpoint_") for path in found)


def _pinned_variables(pins: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """Environment variables that hold what a process has fixed before the recorder runs in it."""
    variables = {"TORCHINDUCTOR_CACHE_DIR": str(folder / "torchinductor")}  # importing a Trainer makes it, used or not
    if "threads" in pins:
        variables["OMP_NUM_THREADS"] = str(pins["threads"])
    if "seed" in pins:
        variables["PYTHONHASHSEED"] = str(pins["seed"])
    return variables


def own_ray_variables(arm: Arm, overrides: Overrides) -> dict[str, str]:
    """Environment variables that every arm gets with a Ray of its own.

    Args:
        arm: What runs; the largest `num_workers=` in its script tells how many CPUs Ray has to count.
        overrides: The same for every arm.
    """
    variables = {
        **JOB_VARIABLES,
        **{name: value for name, value in QUICKER.items() if name not in os.environ},
        "RAY_ADDRESS": "local",
        "RAY_AUTH_MODE": "disabled",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_DISABLE_DOCKER_CPU_WARNING": "1",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }
    named = NUM_WORKERS.findall(arm.script.read_text(encoding="utf-8", errors="replace"))
    workers = overrides.workers or max(map(int, named), default=2)
    needed = workers + 6  # and the trial's own bundle, and Ray Data's tasks
    if (os.cpu_count() or 1) < needed:  # CPUs are only counted; on a small machine the workers take turns
        variables["RAY_OVERRIDE_RESOURCES"] = json.dumps({"CPU": needed})
    if overrides.device == "cpu":
        variables["CUDA_VISIBLE_DEVICES"] = ""
    on_cpu = {**os.environ, **variables}.get("CUDA_VISIBLE_DEVICES") == ""
    if on_cpu and arm.python == Path(sys.executable) and FORKED_WORKERS not in os.environ:
        variables[FORKED_WORKERS] = "1"
    return variables


class ArmFailure(VerifyError):
    """An arm that did not run to its end: the error, what is known of its script, and all of its log.

    Args:
        name: Name of the run.
        what: What happened.
        arm: What was run.
        log: Its output.
        known: What is known of the reason besides.
    """

    def __init__(self, name: str, what: str, arm: Arm, log: Path, known: str = "") -> None:
        self.headline = f"Arm {name} ({TITLES[name[0]]}) {what}."
        told = explained(log, log.parent / WORK, arm.variables.get("RAYMIGRATE_STANDIN", ""))
        self.reason = f"{known}\n\n{told}" if known else told
        self.log = log
        notes = "".join(f"\n  {note}" for note in arm.notes)
        of_script = f"\n\nKnown of its script:{notes}" if notes else ""
        super().__init__(f"{self.headline}\n\n{self.reason}{of_script}")

    def with_log(self, log: Path) -> ArmFailure:
        """The same, told with where its log is to be found."""
        self.args = (f"{self}\n\nAll of its log: {log}",)
        return self
