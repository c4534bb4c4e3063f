"""What the reports say of how a verification was run."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import psutil

from raymigrate.base.findings import Finding, Kind
from raymigrate.runtime.verify.arms import TITLES, ArmFailure, Run
from raymigrate.runtime.verify.paths import shown
from raymigrate.runtime.verify.pins import PINS
from raymigrate.runtime.verify.request import Request
from raymigrate.runtime.verify.results import ArmRun, Series, Setting, Verification
from raymigrate.runtime.verify.trace import Attempt

LEFT = "left for a person in the converted script"


def outline(request: Request, started: datetime) -> Verification:
    """What is known of a verification before anything is compared; it has taken the time from `started` until now."""
    converted = request.sources.converted
    return Verification(
        original=shown(request.sources.original),
        converted=shown(converted) if converted else None,
        command=request.command,
        started=started.isoformat(timespec="seconds"),
        seconds=(datetime.now(timezone.utc) - started).total_seconds(),
        arms=(),
        comparisons=(),
        pins=tuple(pin.setting() for pin in PINS if pin.name not in request.dropped_pins),
        overrides=tuple(_overrides(request)),
    )


def failed(request: Request, started: datetime, failure: ArmFailure) -> Verification:
    """What the reports hold of a verification whose arm did not run to its end."""
    return replace(outline(request, started), not_covered=(failure.headline, failure.reason))


def note(finding: Finding) -> str:
    """What is worth telling of a conversion, for the notes of an arm."""
    place = f"{finding.path}:{finding.line}" if finding.line else finding.path
    if finding.kind is Kind.ERROR:
        return f"ignored, as the job does not import it: {place} {finding.message}"
    return f"{LEFT}: {finding.code} {place} {finding.message}"


def described(run: Run, log: Path | None) -> ArmRun:
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


def not_covered(request: Request, runs: Sequence[Run]) -> Iterator[str]:
    """What the verification does not show, one sentence each."""
    yield from _not_shown_by(runs)
    if "P" in request.letters:
        yield from _not_shown_of_plain(request, runs)
    yield from _not_asked_for(request)


def _not_shown_by(runs: Sequence[Run]) -> Iterator[str]:
    attempts = max((attempts for run in runs if "-" not in run.name for attempts in run.trace.ranks.values()), key=len)
    if len(attempts) > 1:
        trial = [f"{name}={value}" for name, value in attempts[-1].settings.items() if not _shared(attempts, name)]
        which = f"the one with {', '.join(trial)}" if trial else "that of the last fit()"
        yield f"The train function ran {len(attempts)} times; {which} is compared."
    for run in runs:
        if run.error:
            yield f"The script of {run.name} ended with an error after its training: {run.error}"


def _not_asked_for(request: Request) -> Iterator[str]:
    if not {"P", "A"} & set(request.letters):
        yield "No arm ran on the real old Ray: that the stand-in does what it did is taken as given (--arms A,O,B,C)."
    if not {"C", "Q"} & set(request.letters):
        yield "The converted script was not run on the current libraries (arm C)."
    if request.repeat == 1:
        yield "No arm was repeated: a job that is not deterministic by itself would show as a difference (--repeat 2)."
    if not request.kill_worker and "Q" not in request.letters:
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


def _not_shown_of_plain(request: Request, runs: Sequence[Run]) -> Iterator[str]:
    if request.options.to_ray:
        yield "The original reports nothing to Ray: what C reports and keeps has nothing to be compared with."
    if "Q" in request.letters:
        yield "What the scripts print and the files that they write, such as checkpoints, are not compared."
    if all(run.trace.world_size == 1 for run in runs if run.arm.letter in ("P", "Q")):
        yield "One process trained: what several of them see is not shown (--workers 2)."


def machine(runs: Sequence[Run]) -> dict[str, str]:
    """Facts about the machine that the arms ran on."""
    facts = {
        "platform": platform.platform(),
        "cpu": f"{os.cpu_count()} cores",
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
    }
    devices = {run.trace.first_rank.model.get("device_name") for run in runs} - {"cpu", None}
    return {**facts, "gpu": ", ".join(sorted(map(str, devices)))} if devices else facts
