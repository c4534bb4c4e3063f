"""A whole verification: prepares the arms, runs them one after the other, compares them."""

from __future__ import annotations

import contextlib
import os
import platform
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import psutil

from raymigrate.config import Options
from raymigrate.runtime import environments
from raymigrate.runtime.hub import cached_hub, hub_environment
from raymigrate.runtime.hub.server import HubServer
from raymigrate.runtime.verify.arms import TITLES, Arm, Overrides, Run, run_arm
from raymigrate.runtime.verify.cluster import Cluster
from raymigrate.runtime.verify.compare import compare_all
from raymigrate.runtime.verify.errors import VerifyError
from raymigrate.runtime.verify.gates.outcome import reported_checkpoints
from raymigrate.runtime.verify.paths import shown
from raymigrate.runtime.verify.pins import PINS
from raymigrate.runtime.verify.results import ArmRun, Series, Setting, Verification
from raymigrate.runtime.verify.scripts import RAY_ONLY, Sources
from raymigrate.runtime.verify.trace import Attempt
from raymigrate.runtime.watcher import MARKER, temporary_folder

OLD_LIBRARIES = "current"  # the environment of arm O: current Ray, old libraries


class Progress(Protocol):
    """Is told how far the arms are."""

    def start(self, letter: str, title: str) -> None:
        """An arm, or the making of an environment, begins."""

    def update(self, text: str) -> None:
        """It is so far."""

    def done(self, seconds: float) -> None:
        """It is over."""


@dataclass(frozen=True)
class Request:
    """What the user asked for.

    Args:
        sources: The two versions of the job.
        arguments: Command-line arguments of the script.
        letters: The arms, in the order in which they run.
        old_ray: Environment of arm A, "2.6" or "2.7".
        options: For the conversion.
        dropped_pins: Pins that are off.
        overrides: The same for every arm.
        offline: Whether models and datasets come from the offline hub.
        hub_size: Size of the offline hub's models, "tiny" or "full".
        timeout: Seconds for each run.
        repeat: How often each arm runs.
        cluster: Where the arms run; None for a Ray of their own on this machine.
        kill_worker: Whether each arm runs once more with a worker killed in the middle.
        command: The command line that repeats it.
    """

    sources: Sources
    arguments: tuple[str, ...] = ()
    letters: tuple[str, ...] = ("B", "C")
    old_ray: str = "2.6"
    options: Options = field(default_factory=Options)
    dropped_pins: tuple[str, ...] = ()
    overrides: Overrides = field(default_factory=Overrides)
    offline: bool = False
    hub_size: str = "tiny"
    timeout: float = 3600.0
    repeat: int = 1
    kill_worker: bool = False
    cluster: Cluster | None = None
    command: str = ""

    @property
    def pins(self) -> dict[str, Any]:
        """Pin -> value, of those that are on."""
        return {pin.name: pin.value for pin in PINS if pin.name not in self.dropped_pins}


def verify(request: Request, progress: Progress, keep: Path | None = None) -> Verification:
    """Runs the arms and compares them.

    Args:
        request: What to run.
        progress: Is told how far it is.
        keep: Folder in which scripts, logs and traces stay; None for a temporary one.

    Raises:
        VerifyError: If an arm cannot be prepared, fails, takes too long or leaves no trace.
    """
    started, clock = datetime.now(timezone.utc), time.monotonic()
    with _folder(keep, request.cluster) as folder, _hub(request) as hub:
        runs = run_arms(request, folder, hub, progress)
        return Verification(
            original=shown(request.sources.original),
            converted=shown(request.sources.converted) if request.sources.converted else None,
            command=request.command,
            started=started.isoformat(timespec="seconds"),
            seconds=time.monotonic() - clock,
            arms=tuple(_described(run, shown(keep) / run.log.relative_to(folder) if keep else None) for run in runs),
            comparisons=compare_all(runs),
            pins=tuple(pin.setting() for pin in PINS if pin.name in request.pins),
            overrides=tuple(_overrides(request)),
            machine=_machine(runs),
            not_covered=tuple(_not_covered(request, runs)),
        )


@contextlib.contextmanager
def _folder(keep: Path | None, cluster: Cluster | None) -> Iterator[Path]:
    if keep is None:
        place = cluster.shared_folder if cluster else None
        with temporary_folder("raymigrate-verify-", place) as folder:
            yield folder
        return
    if keep.exists() and any(keep.iterdir()):
        raise VerifyError(f"{keep} is not empty; --keep takes a new folder.")
    keep.mkdir(parents=True, exist_ok=True)
    keep.chmod(0o700)  # it holds copies of the user's files and the output of their job
    (keep / MARKER).touch()
    (keep / ".gitignore").write_text("# Made by raymigrate verify --keep.\n*\n", encoding="utf-8")
    yield keep.resolve()


@contextlib.contextmanager
def _hub(request: Request) -> Iterator[str | None]:
    if not request.offline:
        yield None
        return
    with HubServer(cached_hub(request.hub_size)) as server:
        yield server.url


@dataclass(frozen=True)
class Preparation:
    """Makes the arms: script, environment, variables.

    Args:
        request: What the user asked for.
        folder: For everything.
        hub: Where the offline hub answers, or None.
        progress: Is told how far an environment is.
    """

    request: Request
    folder: Path
    hub: str | None
    progress: Progress

    def arm(self, letter: str) -> Arm:
        """Prepares one arm.

        Raises:
            VerifyError: If its script or its environment cannot be made.
        """
        folder = self.folder / "scripts" / letter
        sources, options = self.request.sources, self.request.options
        notes: list[str] = []
        environment = None
        if letter == "A":
            script = sources.put_original(folder)
            environment = self._environment(self.request.old_ray)
        elif letter == "B":
            script, codes = sources.put_respelled(folder)
            if codes:
                notes.append(f"names of transformers, datasets and accelerate brought up to date by {', '.join(codes)}")
        else:
            if letter == "O":
                environment = self._environment(OLD_LIBRARIES)
                options = replace(options, ignore=RAY_ONLY, freeze_numerics=False)
            script, left = sources.put_converted(folder, options)
            notes += [f"left for a human: {finding.code} {finding.path}:{finding.line}" for finding in left]
        variables = self._data_variables(environment.name if environment else "own")
        if letter == "B":
            variables["RAYMIGRATE_STANDIN"] = ".".join(map(str, sources.written_for(options).version))
        if environment is None:
            return Arm(letter, script, variables=variables, notes=tuple(notes))
        return Arm(letter, script, environment.python, {**variables, **environment.variables}, tuple(notes))

    def _environment(self, name: str) -> environments.Environment:
        found = environments.find(name)
        if found is not None:
            return found
        started = time.monotonic()
        self.progress.start(name, "making the environment")
        try:
            made = environments.ensure(name, progress=self.progress.update)
        except environments.EnvironmentFailure as error:
            raise VerifyError(str(error)) from error
        self.progress.done(time.monotonic() - started)
        return made

    def _data_variables(self, environment: str) -> dict[str, str]:
        """Where models and datasets come from. Old and new datasets cannot read each other's cache."""
        if self.hub is not None:
            downloads = self.folder / "downloads" / environment
            # The caches that the user's own variables name are overridden for the arms alone.
            return hub_environment(self.hub, downloads)
        if environment == "own":
            return {}
        cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
        return {"HF_DATASETS_CACHE": str(cache / "raymigrate" / "datasets" / environment)}


def run_arms(
    request: Request, folder: Path, hub: str | None, progress: Progress, kill: dict[str, int] | None = None
) -> list[Run]:
    """Runs every arm as often as it is asked for, and then, if that is asked for, with a killed worker.

    Args:
        request: What to run.
        folder: For scripts, logs, traces and results.
        hub: Where the offline hub answers, or None.
        progress: Is told how far it is.
        kill: Which worker to kill, and when; None chooses by the first run, for every arm the same.

    Raises:
        VerifyError: As `verify`.
    """
    preparation = Preparation(request, folder, hub, progress)
    arms = [preparation.arm(letter) for letter in request.letters]
    runs: list[Run] = []
    for arm in arms:
        run = partial(_run, arm, request, folder, progress)
        runs.append(run(arm.letter))
        runs += [run(f"{arm.letter}{number}") for number in range(2, request.repeat + 1)]
        if request.kill_worker:
            kill = kill or where_to_kill(runs[0])
            runs.append(run(f"{arm.letter}-killed", kill))
    return runs


def _run(
    arm: Arm, request: Request, folder: Path, progress: Progress, name: str, kill: dict[str, int] | None = None
) -> Run:
    progress.start(name, TITLES[arm.letter])
    run = run_arm(
        arm,
        name,
        folder / "runs" / name,
        arguments=request.arguments,
        pins=request.pins,
        overrides=request.overrides,
        kill=kill,
        timeout=request.timeout,
        progress=progress.update,
        cluster=request.cluster,
    )
    progress.done(run.seconds)
    return run


def where_to_kill(run: Run) -> dict[str, int]:
    """The last worker dies in the middle of what follows the first checkpoint, or in the middle of everything."""
    attempt = run.trace.first_rank
    steps = len(attempt.steps)
    saved = [step for step in reported_checkpoints(attempt) if step < steps]
    begin = saved[0] if saved else 0
    return {"rank": run.trace.world_size - 1, "step": begin + (steps - begin) // 2}


def _described(run: Run, log: Path | None) -> ArmRun:
    """For the report: curves and versions, without the trace."""
    series = []
    for rank, attempt in run.trace.last.items():
        series += [
            Series("loss", rank, tuple(step.loss for step in attempt.steps)),
            Series("gradient norm", rank, tuple(step.gradient_norm for step in attempt.steps)),
            Series("learning rate", rank, tuple(next(iter(step.learning_rates), None) for step in attempt.steps)),
        ]
    versions = {**run.trace.versions, "device": run.trace.first_rank.model.get("device_name", "")}
    return ArmRun(
        run.name,
        TITLES[run.arm.letter],
        Path(run.arm.script.name),
        run.seconds,
        versions,
        tuple(series),
        log,
        run.arm.notes,
        run.trace.first_rank.step_seconds,
        max((attempt.memory for attempt in run.trace.last.values() if attempt.memory is not None), default=None),
    )


def _overrides(request: Request) -> Iterator[Setting]:
    overrides = request.overrides
    if overrides.workers is not None:
        yield Setting("workers", str(overrides.workers), "--workers")
    if overrides.device is not None:
        yield Setting("device", overrides.device, "--device")
    if overrides.precision is not None:
        yield Setting("precision", overrides.precision, "--precision")
    if overrides.max_steps is not None:
        yield Setting("max steps", str(overrides.max_steps), "--max-steps")
    if request.cluster is not None:
        yield Setting("cluster", request.cluster.address, "--address: the arms ran as jobs of a running Ray cluster")
    if request.offline:
        yield Setting("hub", f"offline, {request.hub_size}", "--offline: models of random weights, and small datasets")
    yield Setting(
        "storage", "a folder for each run", "a run with the name of an earlier one would go on from its checkpoint"
    )


def _shared(attempts: Sequence[Attempt], name: str) -> bool:
    return len({attempt.settings.get(name) for attempt in attempts}) == 1


def _not_covered(request: Request, runs: Sequence[Run]) -> Iterator[str]:
    attempts = max((attempts for run in runs if "-" not in run.name for attempts in run.trace.ranks.values()), key=len)
    if len(attempts) > 1:
        trial = [f"{name}={value}" for name, value in attempts[-1].settings.items() if not _shared(attempts, name)]
        which = f"the one with {', '.join(trial)}" if trial else "that of the last fit()"
        yield f"The train function ran {len(attempts)} times; {which} is compared."
    if "A" not in request.letters:
        yield "No arm ran on the real old Ray: that the stand-in does what it did is taken as given (--arms A,O,B,C)."
    if "C" not in request.letters:
        yield "The converted script was not run on the current libraries (arm C)."
    if request.repeat == 1:
        yield "No arm was repeated: a job that is not deterministic by itself would show as a difference (--repeat 2)."
    if not request.kill_worker:
        yield "No worker was killed: resuming after a failure is not shown (--kill-worker)."
    if request.overrides.max_steps is not None:
        yield f"Only the first {request.overrides.max_steps} optimizer steps were run."
    chosen = [name for name in ("workers", "device", "precision") if getattr(request.overrides, name) is not None]
    if chosen:
        yield f"Set from outside, not by the script: {', '.join(f'--{name}' for name in chosen)}."
    if request.offline:
        yield f"Models and datasets are those of the offline hub, size {request.hub_size}, with random weights."
    if request.sources.original.suffix == ".ipynb":
        yield "Magics and shell lines of the notebook were not run; what would be the output of one was None."
    if sentence := request.sources.left_out:
        yield sentence
    if request.dropped_pins:
        yield f"These determinism pins were off: {', '.join(request.dropped_pins)}."


def _machine(runs: Sequence[Run]) -> dict[str, str]:
    facts = {
        "platform": platform.platform(),
        "cpu": f"{os.cpu_count()} cores",
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
    }
    devices = {run.trace.first_rank.model.get("device_name") for run in runs} - {"cpu", None}
    return {**facts, "gpu": ", ".join(sorted(map(str, devices)))} if devices else facts
