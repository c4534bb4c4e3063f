"""Gate "contract": both jobs see the same rows in the same batches, under the same settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from raymigrate.runtime.verify.gates import asked
from raymigrate.runtime.verify.pairs import Pair, check, not_applicable
from raymigrate.runtime.verify.results import Check, Gate
from raymigrate.runtime.verify.trace import Attempt, Step

# Settings of a parameter group that decide the update. Others (foreach, fused, capturable) only choose the kernel.
GROUP_SETTINGS = ("lr", "betas", "eps", "weight_decay", "momentum", "amsgrad", "parameters")


def gate(pair: Pair) -> Gate:
    """Compares what the model is given and how it is optimized."""
    checks = (
        _runs(pair),
        _workers(pair),
        _steps(pair),
        _rows(pair),
        _tensors(pair),
        _rates(pair),
        _clipping(pair),
        _optimizer(pair),
        _model(pair),
        *asked.checks(pair),
    )
    return Gate("contract", "Do both jobs train on the same batches, under the same settings?", checks)


def _runs(pair: Pair) -> Check:
    """How often the train function ran: more than once after a failure, or if a script trains several times."""
    left, right = (len(next(iter(trace.ranks.values()))) for trace in pair.traces)
    return check("runs of the train function", left == right, f"{left}" if left == right else f"{left} and {right}")


def _workers(pair: Pair) -> Check:
    left, right = (trace.world_size for trace in pair.traces)
    together = [trace.first_rank.start["backend"] is not None or trace.world_size == 1 for trace in pair.traces]
    figures = f"{left}" if left == right else f"{left} and {right}"
    return check("number of workers", left == right and all(together), figures)


def _steps(pair: Pair) -> Check:
    counts = [(len(left.steps), len(right.steps)) for left, right in map(pair.attempts, pair.ranks)]
    same = all(left == right for left, right in counts)
    left, right = counts[0]
    return check("optimizer steps", same, f"{left} on each worker" if same else f"{left} and {right} on rank 0")


def _rows(pair: Pair) -> Check:
    """The rows of each step, worker by worker, without regard to padding."""
    compared = equal = 0
    first = ""
    for rank in pair.ranks:
        for number, left, right in common_steps(*pair.attempts(rank)):
            compared += 1
            rows = [[row for batch in step.batches for row in batch.rows] for step in (left, right)]
            equal += rows[0] == rows[1]
            if rows[0] != rows[1] and not first:
                first = f"; first at step {number} of rank {rank}: {_rows_apart(pair, number, rows)}"
    return check("rows of each step", equal == compared, f"equal in {equal} of {compared}{first}")


def _rows_apart(pair: Pair, number: int, rows: list[list[str]]) -> str:
    if len(rows[0]) != len(rows[1]):
        return f"{len(rows[0])} and {len(rows[1])} rows"
    if sorted(rows[0]) == sorted(rows[1]):
        return "the same rows in another order"
    everywhere = [Counter(rows_of_step(trace.last, number)) for trace in pair.traces]
    if everywhere[0] == everywhere[1]:
        return "the same rows, dealt to other workers"
    return f"{sum((everywhere[0] - everywhere[1]).values())} of {sum(everywhere[0].values())} rows are others"


def rows_of_step(attempts: dict[int, Attempt], number: int) -> list[str]:
    """The rows that all workers saw in a step."""
    steps = (attempt.steps[number - 1] for attempt in attempts.values() if len(attempt.steps) >= number)
    return [row for step in steps for batch in step.batches for row in batch.rows]


def _tensors(pair: Pair) -> Check:
    """The tensors of each batch: with their padding, their masks and their labels."""
    compared = equal = 0
    first, only = "", set()
    for rank in pair.ranks:
        for number, left, right in common_steps(*pair.attempts(rank)):
            for a, b in zip(left.batches, right.batches, strict=False):
                compared += 1
                only |= a.tensors.keys() ^ b.tensors.keys()
                apart = a.unequal_inputs(b)
                equal += not apart
                if apart and not first:
                    name = apart[0]
                    shapes = [list(batch.tensors[name][0]) for batch in (a, b)]
                    what = f"shapes {shapes[0]} and {shapes[1]}" if shapes[0] != shapes[1] else "other values"
                    first = f"; first at step {number} of rank {rank}: {name} has {what}"
    extra = f"; only in one of them: {', '.join(sorted(only))}" if only else ""
    return check(
        "tensors of each batch", equal == compared and compared > 0, f"equal in {equal} of {compared}{first}{extra}"
    )


def _rates(pair: Pair) -> Check:
    compared = equal = 0
    first = ""
    for rank in pair.ranks:
        for number, left, right in common_steps(*pair.attempts(rank)):
            compared += 1
            same = left.learning_rates == right.learning_rates
            equal += same
            if not same and not first:
                rates = [f"{step.learning_rates[0]:.6g}" if step.learning_rates else "none" for step in (left, right)]
                first = f"; first at step {number} of rank {rank}: {rates[0]} and {rates[1]}"
    return check("learning rate of each step", equal == compared, f"equal in {equal} of {compared}{first}")


def _clipping(pair: Pair) -> Check:
    """To what gradients are clipped; a bound that none of them exceeds changes nothing in a short run."""
    name = "clipping of gradients"
    left, right = clipping(pair)
    if not left and not right:
        return not_applicable(name, "neither job clips them")
    figures = " and ".join(_bounds(found) for found in (left, right))
    return check(name, left == right, _bounds(left) if left == right else figures)


def clipping(pair: Pair) -> tuple[Counter[float], Counter[float]]:
    """Of both runs: bound -> in how many steps gradients are clipped to it."""
    left, right = (
        Counter(bound for step in trace.first_rank.steps for bound in set(step.clipped)) for trace in pair.traces
    )
    return left, right


def _bounds(found: Counter[float]) -> str:
    return ", ".join(f"to {bound:g} in {steps} steps" for bound, steps in sorted(found.items())) or "not at all"


def _optimizer(pair: Pair) -> Check:
    apart = optimizers_apart(pair)
    made = pair.left.trace.first_rank.optimizer
    figures = f"{made.get('optimizer')}, {len(made.get('groups', []))} parameter groups"
    return check("optimizer", not apart, "; ".join(apart) or figures)


def optimizers_apart(pair: Pair) -> list[str]:
    """In what the optimizers differ that decides the update."""
    left, right = (trace.first_rank.optimizer for trace in pair.traces)
    names = [optimizer.get("optimizer") for optimizer in (left, right)]
    apart = [f"{names[0]} and {names[1]}"] if names[0] != names[1] else []
    groups = [optimizer.get("groups", []) for optimizer in (left, right)]
    if len(groups[0]) != len(groups[1]):
        apart.append(f"{len(groups[0])} and {len(groups[1])} parameter groups")
    for number, (a, b) in enumerate(zip(*groups, strict=False)):
        apart += [
            f"{name} of group {number} is {a[name]} and {b[name]}"
            for name in GROUP_SETTINGS
            if name in a and name in b and a[name] != b[name]
        ]
    return apart


def _model(pair: Pair) -> Check:
    left, right = (trace.first_rank.model for trace in pair.traces)
    names = ("model", "dtypes", "trainable", "device")
    apart = [f"{name}: {left.get(name)} and {right.get(name)}" for name in names if left.get(name) != right.get(name)]
    if not left or not right:
        return not_applicable("model", "no module of more than one layer was called in training")
    figures = f"{left.get('model')}, {left.get('trainable'):,} trainable parameters, {'/'.join(left.get('dtypes', []))}"
    return check("model", not apart, "; ".join(apart) or figures)


def common_steps(left: Attempt, right: Attempt) -> Iterator[tuple[int, Step, Step]]:
    """The steps that both attempts made, with their number."""
    for number, (a, b) in enumerate(zip(left.steps, right.steps, strict=False), 1):
        yield number, a, b
