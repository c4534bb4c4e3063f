"""Gate "alive": something was learned. Two dead runs are equal too."""

from __future__ import annotations

from raymigrate.runtime.verify.arms import Run
from raymigrate.runtime.verify.pairs import Pair, check
from raymigrate.runtime.verify.results import Check, Gate


def gate(pair: Pair) -> Gate:
    """Looks at each arm alone."""
    checks = [check_of(run) for run in (pair.left, pair.right) for check_of in (_loss, _gradients, _weights)]
    return Gate("alive", "Did both jobs learn anything?", tuple(checks))


def _loss(run: Run) -> Check:
    losses = [step.loss for step in run.trace.first_rank.steps if step.loss is not None]
    moved = len(set(losses)) > 1
    figures = f"from {losses[0]:.4g} to {losses[-1]:.4g}" if losses else "backward() was never called"
    return check(f"loss of {run.name} moved", moved, figures)


def _gradients(run: Run) -> Check:
    norms = [step.gradient_norm or 0.0 for step in run.trace.first_rank.steps]
    figures = f"norm from {min(norms):.4g} to {max(norms):.4g}" if norms else "no optimizer step was made"
    return check(f"gradients of {run.name}", any(norms), figures)


def _weights(run: Run) -> Check:
    attempt = run.trace.first_rank
    final = attempt.final_weights or {}
    changed = sum(attempt.initial_weights.get(name) != digest for name, digest in final.items())
    return check(f"weights of {run.name} changed", changed > 0, f"{changed} of {len(final)} tensors")
