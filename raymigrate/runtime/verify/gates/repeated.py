"""Gate "self": an arm that is run again equals itself; else the job is not deterministic, and no other gate can be.

On a GPU kernels may sum in any order, so two runs of one job may part a little. How far is measured here, and is the
yardstick for the other gates (docs/verify.md#gpus).
"""

from __future__ import annotations

from dataclasses import replace

from raymigrate.runtime.verify.arms import Run
from raymigrate.runtime.verify.gates.course import largest_differences
from raymigrate.runtime.verify.gates.end import weight_difference
from raymigrate.runtime.verify.pairs import GPU_FLOAT32, HALF, TF32, Pair, Tolerance, check, not_applicable
from raymigrate.runtime.verify.results import Check, Gate, Status


def gate(pair: Pair) -> Gate:
    """Compares each arm with its repetitions."""
    checks = tuple(_check(run, again) for run, again in _repetitions(pair))
    title = "Does each job equal itself when it is run again?"
    return Gate("self", title, checks or (not_applicable("repetition", "each arm ran once; --repeat 2 runs it again"),))


def with_measured_tolerance(pair: Pair) -> Pair:
    """The pair with the bounds that its repetitions allow: twice what a job moved by itself.

    For float32 on a GPU that is allowed where it is more than the fixed bound; in half precision it is all that is
    allowed, up to the fixed bound. Elsewhere, and without repetitions, nothing changes.
    """
    spreads = [spread(run, again) for run, again in _repetitions(pair)]
    if not spreads or pair.tolerance not in (GPU_FLOAT32, TF32, HALF):
        return pair
    choose = min if pair.tolerance is HALF else max
    twice = {name: 2 * max(getattr(each, name) for each in spreads) for name in ("loss", "gradient_norm", "weights")}
    bounds = {name: choose(getattr(pair.tolerance, name), bound) for name, bound in twice.items()}
    reason = f"{pair.tolerance.reason}; twice the spread of repeated runs: loss {twice['loss']:.2g}"
    return replace(pair, tolerance=replace(pair.tolerance, **bounds, reason=reason))


def spread(run: Run, again: Run) -> Tolerance:
    """How far a run and its repetition are apart."""
    both = Pair(run, again, HALF)
    loss, norm = (each.value for each in largest_differences(both))
    return Tolerance(loss, norm, 0.0 if both.same_weights else weight_difference(both)[0])


def _repetitions(pair: Pair) -> list[tuple[Run, Run]]:
    return [(run, again) for run in (pair.left, pair.right) for again in pair.repeats.get(run.name, ())]


def _check(run: Run, again: Run) -> Check:
    name, found = f"{again.name} against {run.name}", spread(run, again)
    if found == Tolerance():
        return check(name, True, "bit-equal in losses, gradient norms and final weights")
    figures = (
        f"largest difference: loss {found.loss:.2g} and gradient norm {found.gradient_norm:.2g} of their size, "
        f"weights {found.weights:.2g}"
    )
    on_gpu = run.trace.first_rank.model.get("device", "cpu") != "cpu"
    if on_gpu and found.loss <= HALF.loss and found.gradient_norm <= HALF.gradient_norm:
        return Check(name, Status.EXPLAINED, f"{figures}: kernels of a GPU may sum in any order")
    return check(name, False, figures)
