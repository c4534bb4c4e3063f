"""A whole verification: prepares the arms, runs them one after the other, compares them."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Protocol

from raymigrate.runtime import environments
from raymigrate.runtime.hub import cached_hub, hub_environment
from raymigrate.runtime.hub.server import HubServer
from raymigrate.runtime.verify.arms import TITLES, WORK, Arm, ArmFailure, Run, run_arm
from raymigrate.runtime.verify.cluster import Cluster
from raymigrate.runtime.verify.compare import compare_all
from raymigrate.runtime.verify.description import LEFT, described, machine, not_covered, note, outline
from raymigrate.runtime.verify.errors import VerifyError
from raymigrate.runtime.verify.gates.outcome import reported_checkpoints
from raymigrate.runtime.verify.paths import shown
from raymigrate.runtime.verify.request import Request
from raymigrate.runtime.verify.results import Verification
from raymigrate.runtime.verify.scripts import OF_LIBRARIES, uses_ray, workers_of
from raymigrate.runtime.watcher import MARKER, temporary_folder

TIMES_AS_LONG = 8  # as the slowest arm before; then a run hangs
LEAST_PATIENCE = 300.0  # seconds
OLD_LIBRARIES = "current"  # the environment of arm O: current Ray, old libraries


class Progress(Protocol):
    """Is told how far the arms are."""

    def start(self, letter: str, title: str) -> None:
        """An arm, or the making of an environment, begins."""

    def update(self, text: str) -> None:
        """It is so far."""

    def done(self, seconds: float) -> None:
        """It is over."""

    def tell(self, text: str) -> None:
        """Something to know before the arms start."""


def environment_of(from_ray: str) -> str:
    """The environment of arm A for a script that was written for this Ray; "" if that is not said."""
    return "2.7" if from_ray and int(from_ray.split(".")[1]) >= 7 else "2.6"


def verify(request: Request, progress: Progress, keep: Path | None = None) -> Verification:
    """Runs the arms and compares them.

    Args:
        request: What to run.
        progress: Is told how far it is.
        keep: Folder in which scripts, logs and traces stay; None for a temporary one.

    Raises:
        VerifyError: If an arm cannot be prepared, fails, takes too long or leaves no trace.
    """
    started = datetime.now(timezone.utc)
    with _folder(keep, request.cluster) as folder, _hub(request) as hub:
        try:
            runs = run_arms(request, folder, hub, progress, keep=keep is not None)
        except ArmFailure as failure:
            raise failure.with_log(failure.log if keep else _saved(failure.log)) from None
        arms = tuple(described(run, shown(keep) / run.log.relative_to(folder) if keep else None) for run in runs)
        return replace(
            outline(request, started),
            arms=arms,
            comparisons=compare_all(runs),
            machine=machine(runs),
            not_covered=tuple(not_covered(request, runs)),
        )


def _saved(log: Path) -> Path:
    """The log of a failed arm, where it stays when the folder of the verification goes."""
    handle, path = tempfile.mkstemp(prefix=f"raymigrate-{log.parent.name}-", suffix=".log")
    with os.fdopen(handle, "wb") as copy:
        copy.write(log.read_bytes() if log.exists() else b"")
    return Path(path)


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


def has_gpu() -> bool:
    """Whether this machine has a GPU that torch can use."""
    import torch  # noqa: PLC0415 - 2 s, for plain scripts only

    return bool(torch.cuda.is_available())


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
        if "Q" in self.request.letters:
            return self._as_it_is(letter)
        folder = self.folder / "scripts" / letter
        sources, options = self.request.sources, self.request.options
        notes: list[str] = []
        environment = None
        processes = 0
        if letter == "P":
            script = sources.put_original(folder)
            processes = self.request.processes
        elif letter == "A":
            script = sources.put_original(folder)
            environment = self._environment(self.request.old_ray)
        elif letter == "B":
            script, codes = sources.put_respelled(folder)
            if codes:
                notes.append(f"names of transformers, datasets and accelerate brought up to date by {', '.join(codes)}")
        else:
            if letter == "O":
                environment = self._environment(OLD_LIBRARIES)
                options = replace(options, ignore=OF_LIBRARIES, freeze_numerics=False)
            script, told = sources.put_converted(folder, options)
            notes += map(note, told)
        variables = self._data_variables(environment.name if environment else "own")
        if letter == "B":
            variables["RAYMIGRATE_STANDIN"] = ".".join(map(str, sources.written_for(options).version))
        if letter == "C" and not options.to_ray and options.to_accelerate:
            processes = self.request.processes
        if processes:
            variables |= self._device_variables()
        if environment is None:
            return Arm(letter, script, variables=variables, notes=tuple(notes), processes=processes)
        return Arm(letter, script, environment.python, {**variables, **environment.variables}, tuple(notes))

    def _as_it_is(self, letter: str) -> Arm:
        """One of two scripts that are compared as they are, in its own environment."""
        folder, sources = self.folder / "scripts" / letter, self.request.sources
        script = sources.put_original(folder) if letter == "P" else sources.put_other(folder)
        place = self.request.environments.get(letter)
        environment = self._asked_environment(place) if place is not None else None
        variables = self._data_variables(environment.name if environment else "own")
        launch: tuple[str, ...] = ()
        processes = 0 if uses_ray(script) else self.request.processes
        if processes:
            variables |= self._device_variables()
            launch = self.request.launches.get(letter, ("python",) if processes == 1 else ())
        made = Arm(letter, script, variables=variables, processes=processes, launch=launch)
        if environment is None or place is None:
            return made
        return replace(made, python=environment.python, notes=(f"{environment.title}, of {shown(place)}",))

    def _device_variables(self) -> dict[str, str]:
        """What a script in processes of its own needs where it is to train on the CPU."""
        on_cpu = self.request.overrides.device == "cpu" or not has_gpu()
        return {"ACCELERATE_USE_CPU": "true"} if on_cpu else {}  # else several processes train a model each

    def _environment(self, name: str) -> environments.Environment:
        """One of the environments with old libraries."""
        return environments.find(name) or self._made(name, lambda told: environments.ensure(name, progress=told))

    def _asked_environment(self, place: Path) -> environments.Environment:
        """The one that the user names."""
        return self._made(place.name, lambda told: environments.named(place, told))

    def _made(
        self, name: str, make: Callable[[Callable[[str], None]], environments.Environment]
    ) -> environments.Environment:
        started = time.monotonic()
        self.progress.start(name, "making the environment")
        try:
            made = make(self.progress.update)
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
    request: Request,
    folder: Path,
    hub: str | None,
    progress: Progress,
    kill: dict[str, int] | None = None,
    *,
    keep: bool = True,
) -> list[Run]:
    """Runs every arm as often as it is asked for, and then, if that is asked for, with a killed worker.

    Args:
        request: What to run.
        folder: For scripts, logs, traces and results.
        hub: Where the offline hub answers, or None.
        progress: Is told how far it is.
        kill: Which worker to kill, and when; None chooses by the first run on Ray, for every arm the same.
        keep: Whether what a run wrote stays. Else its trace and log do; checkpoints of several runs may fill a disk.

    Raises:
        VerifyError: As `verify`.
    """
    preparation = Preparation(request, folder, hub, progress)
    arms = with_as_many_processes([preparation.arm(letter) for letter in request.letters])
    for told in dict.fromkeys(told for arm in arms for told in arm.notes if told.startswith(LEFT)):
        progress.tell(told)
    runs: list[Run] = []
    for arm in arms:
        run = partial(_run, arm, request, folder, progress, keep=keep, before=runs)
        undisturbed = run(arm.letter)
        runs.append(undisturbed)
        runs += [run(f"{arm.letter}{number}") for number in range(2, request.repeat + 1)]
        if request.kill_worker and not arm.processes:  # without Ray nothing starts anew
            kill = kill or where_to_kill(undisturbed)
            runs.append(run(f"{arm.letter}-killed", kill))
    return runs


def with_as_many_processes(arms: list[Arm]) -> list[Arm]:
    """The arms, of which a plain original trains in as many processes as the other script has workers on Ray."""
    other = next((arm for arm in arms if arm.letter in ("C", "Q") and not arm.processes), None)
    workers = workers_of(other.script) if other is not None else None
    return [_in_processes(arm, workers) if arm.letter == "P" and workers else arm for arm in arms]


def _in_processes(arm: Arm, workers: int) -> Arm:
    """An arm in so many processes, unless the user says how it is started or it starts Ray itself."""
    if not arm.processes or arm.launch not in ((), ("python",)):
        return arm
    return replace(arm, processes=workers, launch=())


def _run(
    arm: Arm,
    request: Request,
    folder: Path,
    progress: Progress,
    name: str,
    kill: dict[str, int] | None = None,
    *,
    keep: bool,
    before: Sequence[Run] = (),
) -> Run:
    progress.start(name, TITLES[arm.letter])
    timeout, limit = _patience(request.timeout, before)
    run = run_arm(
        arm,
        name,
        folder / "runs" / name,
        arguments=request.arguments,
        pins=request.pins,
        overrides=request.overrides,
        kill=kill,
        timeout=timeout,
        progress=progress.update,
        cluster=request.cluster,
        limit=limit,
    )
    if not keep:
        for written in ("storage", WORK):
            shutil.rmtree(folder / "runs" / name / written, ignore_errors=True)
    progress.done(run.seconds)
    return run


def _patience(timeout: float, before: Sequence[Run]) -> tuple[float, str]:
    """How long a run may take, and why: workers that wait for each other are not waited for as long as that."""
    slowest = max(before, key=lambda run: run.seconds, default=None)
    if slowest is None or (enough := max(LEAST_PATIENCE, TIMES_AS_LONG * slowest.seconds)) >= timeout:
        return timeout, "see --timeout"
    return round(enough), f"{slowest.name} took {slowest.seconds:.0f} s"


def where_to_kill(run: Run) -> dict[str, int]:
    """The last worker dies in the middle of what follows the first checkpoint, or in the middle of everything."""
    attempt = run.trace.first_rank
    steps = len(attempt.steps)
    saved = [step for step in reported_checkpoints(attempt) if step < steps]
    begin = saved[0] if saved else 0
    return {"rank": run.trace.world_size - 1, "step": begin + (steps - begin) // 2}
