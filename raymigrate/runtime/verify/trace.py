"""Reads what the recorder wrote while an arm ran."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Batch:
    """What one call of the model was given.

    Args:
        tensors: Input name -> (shape, dtype, hash).
        rows: A hash for each row, without its padding.
        loss: The loss that the model returned, or None.
        trained: Whether the model is the one that trains.
    """

    tensors: dict[str, tuple[tuple[int, ...], str, str]]
    rows: tuple[str, ...]
    loss: float | None
    trained: bool = True

    @classmethod
    def read(cls, event: dict[str, Any]) -> Batch:
        """From the recorder's JSON."""
        tensors = {name: (tuple(shape), dtype, digest) for name, (shape, dtype, digest) in event["tensors"].items()}
        return cls(tensors, tuple(event["rows"]), event["loss"], event.get("trained", True))

    def unequal_inputs(self, other: Batch) -> list[str]:
        """The names of the inputs that both have, but with other values or of another shape."""
        shared = self.tensors.keys() & other.tensors.keys()
        return sorted(name for name in shared if self.tensors[name][::2] != other.tensors[name][::2])


@dataclass(frozen=True)
class Step:
    """One optimizer step of one worker.

    Args:
        number: Counted by the worker from 1.
        global_step: The Hugging Face Trainer's own count, or None in another loop.
        losses: What backward() was called on since the last step.
        gradient_norm: 2-norm over all gradients as the optimizer saw them.
        learning_rates: One for each parameter group.
        batches: The micro-batches.
        clipped: To what gradients were clipped, call by call.
        time: When it was over, in seconds since the epoch; no part of what is equal.
    """

    number: int
    global_step: int | None
    losses: tuple[float, ...]
    gradient_norm: float | None
    learning_rates: tuple[float, ...]
    batches: tuple[Batch, ...]
    time: float = field(compare=False)
    clipped: tuple[float, ...] = ()

    @property
    def loss(self) -> float | None:
        """Sum of what was differentiated for this step."""
        return sum(self.losses) if self.losses else None


@dataclass
class Attempt:
    """One run of the train function on one worker; a job that restarts after a failure has several.

    Args:
        started: Seconds since the epoch.
        start: World size, backend, versions, settings.
        model: The model as training began, its weights' hashes included; empty if no step was made.
        optimizer: Class and groups.
        steps: In order.
        evaluation_batches: (worker's step, batch) of every forward pass in evaluation mode.
        evaluations: The Trainer's evaluations: step, rows, metrics.
        metric_rows: What entered metrics or was gathered for them, in order: step, metric, rows, hashes of the values.
        reports: Calls of report(): step, metrics, whether with a checkpoint, and its files with a hash of each.
        accelerators: What each Accelerator was asked for, in order (`raymigrate_recorder.asked`).
        prepare_seed: The seed that was in force at the first prepare(); None in another loop.
        trainer: What the Hugging Face Trainer that trained was asked for; empty in another loop.
        final_weights: Parameter -> hash, or None if the train function did not end.
        memory: The most bytes that the worker used, of its GPU or else of the machine; None if it did not end.
    """

    started: float
    pid: int
    start: dict[str, Any]
    model: dict[str, Any] = field(default_factory=dict)
    optimizer: dict[str, Any] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    evaluation_batches: list[tuple[int, Batch]] = field(default_factory=list)
    evaluations: list[dict[str, Any]] = field(default_factory=list)
    metric_rows: list[dict[str, Any]] = field(default_factory=list)
    reports: list[dict[str, Any]] = field(default_factory=list)
    accelerators: list[dict[str, Any]] = field(default_factory=list)
    prepare_seed: int | None = None
    trainer: dict[str, Any] = field(default_factory=dict)
    final_weights: dict[str, str] | None = None
    memory: int | None = None

    @property
    def settings(self) -> dict[str, str]:
        """The plain values of the train function's configuration, as text."""
        return {name: json.dumps(value) for name, value in self.start.get("settings", ())}

    @property
    def initial_weights(self) -> dict[str, str]:
        """Parameter -> hash before the first step."""
        weights: dict[str, str] = self.model.get("weights", {})
        return weights

    def add(self, event: dict[str, Any]) -> None:
        """Takes in one of the worker's events."""
        kind = event["kind"]
        if kind == "model":
            self.model = event
            self.start["backend"] = self.start["backend"] or event.get("backend")
        elif kind == "optimizer":
            self.optimizer = event
        elif kind == "step":
            self.steps.append(_step(event))
        elif kind == "evaluation batch":
            self.evaluation_batches.append((event["step"], Batch.read(event)))
        elif kind == "evaluation":
            self.evaluations.append(event)
        elif kind == "metric rows":
            self.metric_rows.append(event)
        elif kind == "report":
            self.reports.append(event)
        elif kind == "asked of accelerate":
            self.accelerators.append(event)
        elif kind == "asked at prepare":
            self.prepare_seed = event["seed"] if self.prepare_seed is None else self.prepare_seed
        elif kind == "asked of the Trainer":
            self.trainer = event
        elif kind == "end":
            self.final_weights = event["weights"]
            self.memory = event["memory"]

    @property
    def step_seconds(self) -> float | None:
        """Median time from one step to the next, in which evaluations and the slow first step do not count."""
        times = [step.time for step in self.steps]
        return median(b - a for a, b in pairwise(times)) if len(times) > 1 else None


def _step(event: dict[str, Any]) -> Step:
    return Step(
        event["step"],
        event.get("global_step"),
        tuple(event["losses"]),
        event["gradient_norm"],
        tuple(event["learning_rates"]),
        tuple(Batch.read(batch) for batch in event["batches"]),
        event["time"],
        tuple(event.get("clipped", ())),
    )


@dataclass(frozen=True)
class Trace:
    """Everything recorded of one arm.

    Args:
        folder: Where the recorder wrote.
        ranks: Rank -> its attempts, oldest first; those that began after the last fit(), a Tuner's, before the others.
            Where only a Tuner ran them, they are in the order of their settings, as they ran side by side.
        results: What each call of fit() by the script returned, in order: metrics, checkpoint, error.
        scaling: What each ScalingConfig asked Ray for, in order: number of workers, GPUs.
        asked_of_runs: What each RunConfig asked Ray for, in order: how often a run may fail, what it keeps.
        searches: What came of each Tuner, in order: its scheduler; settings, metrics, checkpoint, error of each trial.
        reads_metrics: Whether the script reads the metrics of a result.
    """

    folder: Path
    ranks: dict[int, list[Attempt]]
    results: list[dict[str, Any]]
    scaling: list[dict[str, Any]] = field(default_factory=list)
    asked_of_runs: list[dict[str, Any]] = field(default_factory=list)
    searches: list[dict[str, Any]] = field(default_factory=list)
    reads_metrics: bool = True

    @cached_property
    def last(self) -> dict[int, Attempt]:
        """Rank -> its last attempt."""
        return {rank: attempts[-1] for rank, attempts in self.ranks.items()}

    @property
    def first_rank(self) -> Attempt:
        """The last attempt of rank 0."""
        return self.last[min(self.last)]

    @property
    def world_size(self) -> int:
        """Number of workers of the last attempt."""
        size: int = self.first_rank.start["world_size"]
        return size

    @property
    def complete(self) -> bool:
        """Whether the script's last fit() returned without an error, and every worker came to its end."""
        ended = all(attempt.final_weights is not None for attempt in self.last.values())
        results = self.results or (self.searches[-1]["trials"] if self.searches else [])
        return ended and bool(results) and not results[-1]["error"]

    @property
    def versions(self) -> dict[str, str]:
        """Library -> version, as rank 0 imported them."""
        versions: dict[str, str] = self.first_rank.start["versions"]
        return versions

    def weights(self, name: str) -> dict[str, Any]:
        """The weights of rank 0, `name` being "initial" or "final"; empty if they were not kept."""
        path = self.folder / f"{name}-{self.first_rank.pid}.pt"
        if not path.exists():
            return {}
        import torch  # noqa: PLC0415 - only when figures are needed

        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        return state


def read_trace(folder: Path) -> Trace:
    """Reads the events of all processes.

    Args:
        folder: The folder named in the recorder's settings.
    """
    ranks: dict[int, list[Attempt]] = {}
    kinds = ("result", "asked of Ray", "asked of a run", "trials", "metrics read")
    by_driver: dict[str, list[dict[str, Any]]] = {kind: [] for kind in kinds}
    for events in (list(_events(path)) for path in sorted(folder.glob("events-*.jsonl"))):
        attempt = None
        for event in events:
            if event["kind"] in by_driver:
                by_driver[event["kind"]].append(event)
            elif event["rank"] is None:
                continue
            elif event["kind"] == "start":
                attempt = Attempt(event["time"], event["pid"], event)
                ranks.setdefault(event["rank"], []).append(attempt)
            elif attempt is not None:
                attempt.add(event)
    results, scaling, runs, searches, reads = (
        sorted(found, key=lambda event: event["time"]) for found in by_driver.values()
    )
    ordered = {rank: _in_order(_that_train(attempts), results) for rank, attempts in sorted(ranks.items())}
    return Trace(folder, ordered, results, scaling, runs, searches, bool(reads))


def _that_train(attempts: list[Attempt]) -> list[Attempt]:
    """Without the functions of Tune that made no step, as those that start a trainer; all if none made one."""
    return [attempt for attempt in attempts if attempt.steps or not attempt.start.get("trial")] or attempts


def _in_order(attempts: list[Attempt], results: list[dict[str, Any]]) -> list[Attempt]:
    """The attempts of a worker, that of the last fit() of the script last; without one, trials by their settings."""
    if results:
        return sorted(attempts, key=lambda attempt: (attempt.started < results[-1]["time"], attempt.started))
    return sorted(attempts, key=lambda attempt: (sorted(attempt.settings.items()), attempt.started))


def _events(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:  # the last line of a worker that was killed while writing
            return


def steps_done(folder: Path) -> int:
    """The number of steps of the worker that is furthest; for the progress line, so that it reads only the ends."""
    done = 0
    for path in folder.glob("events-*.jsonl"):
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - 20_000))
            tail = stream.read().decode(errors="replace")
        for line in reversed(tail.splitlines()):
            if line.startswith('{"kind": "step"') and line.endswith("}"):
                done = max(done, json.loads(line)["step"])
                break
    return done
