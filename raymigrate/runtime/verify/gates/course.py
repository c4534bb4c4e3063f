"""Gate "course": loss and gradient norm of every step, on every worker."""

from __future__ import annotations

import math
from dataclasses import dataclass

from raymigrate.runtime.verify.gates.contract import common_steps
from raymigrate.runtime.verify.pairs import Pair, bounded
from raymigrate.runtime.verify.results import Check, Gate


@dataclass(frozen=True)
class Spread:
    """The largest relative difference of a quantity, and where it is."""

    value: float = 0.0
    where: str = ""
    first: str = ""
    compared: int = 0
    equal: int = 0


def gate(pair: Pair) -> Gate:
    """Compares the course of training."""
    loss, norm = largest_differences(pair)
    checks = (
        _check("loss of each step", loss, pair.tolerance.loss, pair),
        _check("gradient norm of each step", norm, pair.tolerance.gradient_norm, pair),
    )
    return Gate("course", "Do losses and gradients take the same course?", checks)


def largest_differences(pair: Pair) -> tuple[Spread, Spread]:
    """Of the loss that was differentiated and of the gradient norm, over all steps and workers."""
    return _spread(pair, "loss"), _spread(pair, "gradient_norm")


def _spread(pair: Pair, quantity: str) -> Spread:
    worst, where, first = 0.0, "", ""
    compared = equal = 0
    for rank in pair.ranks:
        for number, left, right in common_steps(*pair.attempts(rank)):
            a, b = getattr(left, quantity), getattr(right, quantity)
            if a is None and b is None:
                continue
            compared += 1
            difference = relative_difference(a, b)
            equal += difference == 0
            if difference > 0 and not first:
                first = f"step {number} of rank {rank}: {_figure(a)} and {_figure(b)}"
            if difference > worst:
                worst, where = difference, f"step {number} of rank {rank}: {_figure(a)} and {_figure(b)}"
    return Spread(worst, where, first, compared, equal)


def relative_difference(left: float | None, right: float | None) -> float:
    """0 for equal values (two NaN are equal), infinity where only one is a number."""
    if left == right or (left is not None and right is not None and math.isnan(left) and math.isnan(right)):
        return 0.0
    if left is None or right is None or not math.isfinite(left) or not math.isfinite(right):
        return math.inf
    return abs(left - right) / max(abs(left), abs(right))


def _figure(value: float | None) -> str:
    return "none" if value is None else f"{value:.8g}"


def _check(name: str, spread: Spread, bound: float, pair: Pair) -> Check:
    figures = (
        f"bit-equal in {spread.equal} of {spread.compared}; largest relative difference {spread.value:.2g} at "
        f"{spread.where}"
    )
    if spread.first != spread.where:
        figures += f"; first at {spread.first}"
    equal = f"bit-equal in {spread.equal} of {spread.compared}"
    return bounded(name, spread.value, bound, equal, figures, what=pair.tolerance.reason)
