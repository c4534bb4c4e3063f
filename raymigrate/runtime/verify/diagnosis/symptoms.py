"""Where no signature is found: in what the first steps differ, whose rows and weights are still the same."""

from __future__ import annotations

from collections import Counter

from raymigrate.runtime.verify.diagnosis.signatures import symptom
from raymigrate.runtime.verify.gates.contract import common_steps, rows_of_step
from raymigrate.runtime.verify.pairs import Pair
from raymigrate.runtime.verify.results import Cause
from raymigrate.runtime.verify.trace import Step

NEAR = 0.02  # relative; a factor of figures in half precision
LARGEST = 64  # of the factors that a number of steps, rows or workers may be


def _first_steps(pair: Pair) -> list[tuple[Step, Step]]:
    """The first step of each worker in both, where it begins with the same weights and rows; else none."""
    found = []
    for rank in pair.ranks:
        left, right = pair.attempts(rank)
        steps = next(common_steps(left, right), None)
        if steps is None or left.initial_weights != right.initial_weights:
            return []
        _, a, b = steps
        if [batch.tensors for batch in a.batches] != [batch.tensors for batch in b.batches]:
            return []
        found.append((a, b))
    return found


@symptom
def scaled_loss(pair: Pair) -> Cause | None:
    """The losses of the first step are those of the original times a whole number, or divided by one."""
    ratios = [b.loss / a.loss for a, b in _first_steps(pair) if a.loss and b.loss]
    for number in range(2, LARGEST + 1):
        for factor, how in ((float(number), f"times {number}"), (1 / number, f"divided by {number}")):
            if ratios and all(abs(ratio / factor - 1) < NEAR for ratio in ratios):
                accumulated = max(len(a.batches) for a, _ in _first_steps(pair))
                of_steps = f"; a step has {accumulated} batches" if accumulated > 1 else ""
                return Cause(
                    "the loss is scaled",
                    f"the losses of {pair.right.name} are those of {pair.left.name} {how}{of_steps}",
                    "divide the loss by gradient_accumulation_steps once: accelerator.backward() does it,"
                    " loss.backward() does not",
                )
    return None


@symptom
def other_loss(pair: Pair) -> Cause | None:
    """The same weights and rows give another loss."""
    for a, b in _first_steps(pair):
        if a.loss != b.loss:
            return Cause(
                "another loss",
                f"the same weights and rows give {a.loss} in {pair.left.name} and {b.loss} in {pair.right.name}",
                "compare the loss function with the original: label smoothing, class weights, what is ignored",
            )
    return None


@symptom
def gradients_added(pair: Pair) -> Cause | None:
    """The first step is the same, and the second has the same loss with other gradients."""
    left, right = (trace.first_rank.steps for trace in pair.traces)
    if min(len(left), len(right)) < 2 or not _first_steps(pair):
        return None
    (a, b), (c, d) = zip(left[:2], right[:2], strict=True)
    if (a.loss, a.gradient_norm) != (b.loss, b.gradient_norm) or c.loss != d.loss or c.gradient_norm == d.gradient_norm:
        return None
    return Cause(
        "gradients of the step before remain",
        f"step 2 has the same loss in both, and a gradient norm of {c.gradient_norm} and {d.gradient_norm}",
        "call optimizer.zero_grad() once for each optimizer step",
    )


@symptom
def other_rows(pair: Pair) -> Cause | None:
    """The first steps have other rows, of which nothing better is known."""
    for number in range(1, min(len(trace.first_rank.steps) for trace in pair.traces) + 1):
        left, right = (Counter(rows_of_step(trace.last, number)) for trace in pair.traces)
        if left != right:
            return Cause(
                "other rows",
                f"{sum((left - right).values())} of the {sum(left.values())} rows of step {number} are others in "
                f"{pair.right.name}",
                "compare how the dataset is read, filtered, shuffled and split among the workers",
            )
    return None
