"""Compares pairs of runs: the ladder of gates, and the reasons for what fails."""

from __future__ import annotations

from collections.abc import Sequence

from raymigrate.runtime.verify.arms import Run
from raymigrate.runtime.verify.diagnosis import diagnose
from raymigrate.runtime.verify.gates import LADDER, asked
from raymigrate.runtime.verify.gates.repeated import with_measured_tolerance
from raymigrate.runtime.verify.pairs import CLAIMS, Pair, tolerance_of
from raymigrate.runtime.verify.results import Comparison, Status


def compare_all(runs: Sequence[Run]) -> tuple[Comparison, ...]:
    """Compares the arms that ran, in the order of CLAIMS.

    Args:
        runs: All runs, repetitions ("C2") and those with a killed worker ("C-killed") included.
    """
    named = {run.name: run for run in runs}
    return tuple(
        compare(pair_of(letters[0], letters[1], runs), claim)
        for letters, claim in CLAIMS.items()
        if set(letters) <= set(named)
    )


def pair_of(left: str, right: str, runs: Sequence[Run]) -> Pair:
    """Puts everything together that is known of two arms.

    Args:
        left: Letter of the reference.
        right: Letter of the judged one.
        runs: All runs.
    """
    named = {run.name: run for run in runs}
    tolerance, drift = tolerance_of(named[left], named[right])
    repeats = {
        letter: [run for run in runs if run.name[:1] == letter and run.name[1:].isdigit()] for letter in (left, right)
    }
    judged = named.get(f"{right}-killed")
    killed = (named.get(f"{left}-killed"), judged) if judged is not None else None
    return with_measured_tolerance(Pair(named[left], named[right], tolerance, drift, repeats, killed))


def compare(pair: Pair, claim: str) -> Comparison:
    """Climbs the ladder. Reasons are looked for where a gate does not simply pass.

    Args:
        pair: Two runs.
        claim: What their equality would show.
    """
    gates = tuple(module.gate(pair) for module in LADDER)
    clean = all(gate.status in (Status.PASS, Status.NOT_APPLICABLE) for gate in gates)
    causes = () if clean else diagnose(pair)
    return Comparison(pair.left.name, pair.right.name, claim, gates, causes, asked.hidden(pair))
