"""Gate "self": an arm that is run again equals itself; else the job is not deterministic, and no other gate can be."""

from __future__ import annotations

from raymigrate.runtime.verify.gates.course import largest_differences
from raymigrate.runtime.verify.pairs import Pair, check, not_applicable
from raymigrate.runtime.verify.results import Check, Gate


def gate(pair: Pair) -> Gate:
    """Compares each arm with its repetitions."""
    return Gate("self", "Does each job equal itself when it is run again?", tuple(_checks(pair)))


def _checks(pair: Pair) -> list[Check]:
    checks = []
    for run in (pair.left, pair.right):
        for again in pair.repeats.get(run.name, ()):
            both = Pair(run, again, pair.tolerance)
            same = all(a.final_weights == b.final_weights for a, b in (both.attempts(rank) for rank in both.ranks))
            loss, norm = (spread.value for spread in largest_differences(both))
            figures = (
                "bit-equal in losses, gradient norms and final weights"
                if same and not loss and not norm
                else f"largest relative difference: loss {loss:.2g}, gradient norm {norm:.2g}"
            )
            within = loss <= pair.tolerance.loss and norm <= pair.tolerance.gradient_norm
            checks.append(
                check(f"{again.name} against {run.name}", within and (same or bool(pair.tolerance.weights)), figures)
            )
    return checks or [not_applicable("repetition", "each arm ran once; --repeat 2 runs it again")]
