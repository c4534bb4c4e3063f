"""What a verification found, as data: every report is made from these classes and from nothing else.

A `Verification` holds the arms that ran and one `Comparison` for each pair of them. A comparison is a ladder of gates,
and each gate is a list of checks with figures.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path


class Status(str, Enum):
    """The outcome of a check or a gate. EXPLAINED is a difference with a named cause that stays within its bound."""

    PASS = "pass"
    EXPLAINED = "explained"
    FAIL = "fail"
    NOT_APPLICABLE = "not applicable"


def worst(found: Iterable[Status]) -> Status:
    """The status of a whole that has parts; NOT_APPLICABLE if none of them could be looked at."""
    found = set(found)
    order = (Status.FAIL, Status.EXPLAINED, Status.PASS)
    return next((status for status in order if status in found), Status.NOT_APPLICABLE)


@dataclass(frozen=True)
class Check:
    """One thing that was compared.

    Args:
        name: What, in a few words: "learning rate per step".
        status: How it came out.
        figures: What was measured: "12 of 12 steps equal on 2 ranks", or, on failure, where and how they part.
    """

    name: str
    status: Status
    figures: str


@dataclass(frozen=True)
class Gate:
    """One rung of the ladder.

    Args:
        name: "self", "contract", "start", "course", "end", "evaluation", "outcome", "failure" or "alive".
        title: The question it answers: "Do both jobs see the same data and settings?"
        checks: What was compared, in order.
    """

    name: str
    title: str
    checks: tuple[Check, ...]

    @property
    def status(self) -> Status:
        """FAIL if a check failed, EXPLAINED if one needed an explanation, NOT_APPLICABLE if none could be made."""
        return worst(check.status for check in self.checks)


@dataclass(frozen=True)
class Cause:
    """A named reason for a difference, found by its signature or known from the environments.

    Args:
        name: In a few words: "loss averaged over devices".
        evidence: The measured signature: "losses differ by the factor 2.000 = number of workers".
        remedy: What to do about it, one sentence; empty for drift that needs nothing.
    """

    name: str
    evidence: str
    remedy: str = ""


@dataclass(frozen=True)
class Series:
    """A quantity over the optimizer steps of one rank of one arm.

    Args:
        name: "loss", "gradient norm" or "learning rate".
        rank: Rank of the worker.
        values: One value for each step, beginning with step 1; None where it was not measured.
    """

    name: str
    rank: int
    values: tuple[float | None, ...]


@dataclass(frozen=True)
class ArmRun:
    """One arm that ran to its end.

    Args:
        letter: "P", "Q", "A", "O", "B" or "C"; a repetition is "C2", a run in which a worker was killed "C-killed".
        title: What it is: "converted script, current libraries".
        script: The script that ran.
        seconds: Wall-clock time.
        versions: Library -> version, as the worker imported it ("python" and "device" included).
        series: Curves of every rank.
        log: File with its output, below the working directory; None if it was not kept.
        notes: What a reader should know of it: "transformers' names respelled by RM701, RM703".
        step_seconds: Median time of an optimizer step on rank 0, the recorder's work included; None if unknown.
        memory: Most bytes that a worker used, of its GPU or else of the machine; None if unknown.
    """

    letter: str
    title: str
    script: Path
    seconds: float
    versions: dict[str, str] = field(default_factory=dict)
    series: tuple[Series, ...] = ()
    log: Path | None = None
    notes: tuple[str, ...] = ()
    step_seconds: float | None = None
    memory: int | None = None


@dataclass(frozen=True)
class Comparison:
    """Two arms, gate by gate.

    Args:
        left: Letter of the arm that is the reference.
        right: Letter of the arm that is judged.
        claim: What equality would show: "the conversion", "library drift" or "the whole migration".
        gates: The ladder.
        causes: Named reasons for what differs.
        hidden: Pins that may hide a difference between the two, by name.
    """

    left: str
    right: str
    claim: str
    gates: tuple[Gate, ...]
    causes: tuple[Cause, ...] = ()
    hidden: tuple[str, ...] = ()

    @property
    def status(self) -> Status:
        """FAIL if a gate failed, EXPLAINED if one needed an explanation, NOT_APPLICABLE if none was passed."""
        return worst(gate.status for gate in self.gates)


@dataclass(frozen=True)
class Setting:
    """A determinism pin or an override, the same in every arm.

    Args:
        name: "seed", "attention", "workers".
        value: What it was set to: "42", "eager", "2".
        reason: Why: "the default is sdpa since transformers 4.36".
    """

    name: str
    value: str
    reason: str


@dataclass(frozen=True)
class Verification:
    """A whole run of `raymigrate verify`.

    Args:
        original: The legacy script, below the working directory or its project.
        converted: The converted script, likewise, or None if it was converted on the fly; of two scripts as they are,
            the other one.
        command: The command line that repeats it in the same working directory.
        started: ISO 8601 time in UTC.
        seconds: Wall-clock time of everything.
        arms: The arms in the order in which they ran.
        comparisons: The pairs, in the order P-C, P-Q, A-O, B-C, O-C, A-B, A-C, as far as they were asked for.
        pins: Determinism pins that were on.
        overrides: Overrides that were given.
        machine: Facts about the machine: "cpu" -> "2 cores", "platform" -> ..., "gpu" -> ...
        not_covered: What this verification does not show, one sentence each.
    """

    original: Path
    converted: Path | None
    command: str
    started: str
    seconds: float
    arms: tuple[ArmRun, ...]
    comparisons: tuple[Comparison, ...]
    pins: tuple[Setting, ...] = ()
    overrides: tuple[Setting, ...] = ()
    machine: dict[str, str] = field(default_factory=dict)
    not_covered: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether something was compared, and no comparison failed."""
        shown = (Status.PASS, Status.EXPLAINED)
        return bool(self.comparisons) and all(comparison.status in shown for comparison in self.comparisons)
