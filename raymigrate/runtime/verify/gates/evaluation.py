"""Gate "evaluation": both jobs evaluate the same rows, each counted once, with the same metrics."""

from __future__ import annotations

from typing import Any

from raymigrate.runtime.verify.gates.course import relative_difference
from raymigrate.runtime.verify.pairs import Pair, bounded, check, not_applicable
from raymigrate.runtime.verify.results import Check, Gate, Status
from raymigrate.runtime.verify.trace import Attempt, Trace

# Metrics that measure the machine, not the model.
TIMINGS = ("_runtime", "_per_second", "_time", "_flos", "_duration", "_compilation_time")

# What Ray Tune wrote into every result (docs/semantics/results.md#metrics); Train V2 does not, and rule RM604 tells who
# reads it.
AUTOFILLED = {
    "timestamp", "should_checkpoint", "done", "training_iteration", "trial_id", "date", "time_this_iter_s",
    "time_total_s", "pid", "hostname", "node_ip", "config", "time_since_restore", "iterations_since_restore",
    "checkpoint_dir_name", "experiment_tag", "timesteps_total", "episodes_total", "warmup_time", "experiment_id",
}  # fmt: skip


def gate(pair: Pair) -> Gate:
    """Compares the evaluations."""
    checks = (_rows(pair), _counted(pair), _reached(pair), _metrics(pair))
    return Gate("evaluation", "Do both jobs evaluate every row, with the same metrics?", checks)


def evaluated_rows(pair: Pair) -> tuple[dict[int, set[str]], dict[int, set[str]]]:
    """Of both runs: step -> the different rows that the workers evaluated together after it.

    The last batch of a worker may be completed with rows that others have; the libraries cut those off again. What a
    plain script does with other models behind its training, such as a pipeline with the saved one, is done by the
    driver once the script is converted: it does not count.
    """
    is_plain = pair.left.arm.processes > 0 and not pair.as_they_are
    left, right = (_evaluated(trace, training_alone=is_plain) for trace in pair.traces)
    return left, right


def _evaluated(trace: Trace, *, training_alone: bool) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for attempt in trace.last.values():
        for step, batch in attempt.evaluation_batches:
            if batch.trained or not training_alone or step < len(attempt.steps):
                found.setdefault(step, set()).update(batch.rows)
    return found


def _rows(pair: Pair) -> Check:
    left, right = evaluated_rows(pair)
    if not left and not right:
        return not_applicable("rows evaluated", "neither job evaluates")
    for step in sorted(left.keys() | right.keys()):
        a, b = left.get(step, set()), right.get(step, set())
        if a != b:
            figures = f"after step {step}: {len(a)} and {len(b)} different rows, {len(a & b)} of them the same"
            return check("rows evaluated", False, figures)
    counts = sorted({len(rows) for rows in left.values()})
    return check("rows evaluated", True, f"{len(left)} times {'/'.join(map(str, counts))} different rows, the same")


def _counted(pair: Pair) -> Check:
    """How many rows went into the metrics, as the Hugging Face Trainer counts them."""
    left, right = ([event["rows"] for event in trace.first_rank.evaluations] for trace in pair.traces)
    if not left and not right:
        return not_applicable("rows counted", "not told by a loop of the user's own")
    lost = rows_lost_by_the_original(pair)
    if lost:
        return Check("rows counted", Status.EXPLAINED, lost)
    figures = f"{'/'.join(map(str, sorted(set(left))))} each time" if left == right else f"{left} and {right}"
    return check("rows counted", left == right, figures)


def _reached(pair: Pair) -> Check:
    """The rows that a loop of the user's own gives to its metrics, worker by worker; the right may gather more."""
    name = "rows that reach the metrics"
    if any(trace.first_rank.evaluations for trace in pair.traces):
        return not_applicable(name, "the Trainer counts them")
    compared: dict[str, int] = {}
    for rank in pair.ranks:
        left, right = (rows_by_metric(attempt) for attempt in pair.attempts(rank))
        for key, a in sorted(left.items()):
            b = right.get(key, [])
            rows = [sum(event["rows"] for event in events) for events in (a, b)]
            step, metric = key
            where = f"{metric} after step {step} on rank {rank}"
            if rows[0] != rows[1]:
                return check(name, False, f"{where}: {rows[0]} and {rows[1]} rows")
            if not pair.tolerance.reason and [e["values"] for e in a] != [e["values"] for e in b]:
                return check(name, False, f"{where}: {rows[0]} rows in both, with other values")
            compared[metric] = rows[0]
    if not compared:
        return not_applicable(name, "no metric of evaluate, sklearn or torchmetrics was seen")
    return check(
        name, True, ", ".join(f"{metric} {rows}" for metric, rows in compared.items()) + " rows on each worker"
    )


def rows_by_metric(attempt: Attempt) -> dict[tuple[int, str], list[dict[str, Any]]]:
    """(Step, metric) -> what entered it on a worker, in order."""
    found: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for event in attempt.metric_rows:
        found.setdefault((event["step"], event["metric"]), []).append(event)
    return found


def _metrics(pair: Pair) -> Check:
    left, right = ([event["metrics"] for event in trace.first_rank.evaluations] for trace in pair.traces)
    if not left and not right:
        return not_applicable("evaluation metrics", "a loop of the user's own; see the reports under 'outcome'")
    if len(left) != len(right):
        return check("evaluation metrics", False, f"{len(left)} and {len(right)} evaluations")
    return compared_metrics("evaluation metrics", left, right, pair)


def compared_metrics(name: str, left: list[dict[str, Any]], right: list[dict[str, Any]], pair: Pair) -> Check:
    """Compares the metrics of the left that do not measure the machine; the right may have more of them."""
    worst, where, names, explained = 0.0, "", set(), {}
    for a, b in zip(left, right, strict=True):
        for key in sorted(key for key in a if not key.endswith(TIMINGS)):
            names.add(key)
            if key not in b:
                return check(name, False, f"{key} is missing in {pair.right.name}")
            difference = _difference(a[key], b[key])
            reason = known_reason(pair, key) if difference else ""
            if reason:
                explained[key] = f"{key}: {a[key]:.6g} and {b[key]:.6g} ({reason})"
            elif difference > worst:
                worst, where = difference, f"{key}: {a[key]} and {b[key]}"
    equal = f"equal: {', '.join(sorted(names - explained.keys())) or 'none'}"
    compared = bounded(name, worst, pair.tolerance.metrics, equal, where, what=pair.tolerance.reason)
    if compared.status is Status.FAIL or not explained:
        return compared
    return Check(name, Status.EXPLAINED, "; ".join([compared.figures, *explained.values()]))


def of_training(metrics: dict[str, Any]) -> dict[str, Any]:
    """The metrics that the script reports of the model."""
    return {key: value for key, value in metrics.items() if key not in AUTOFILLED and not key.endswith(TIMINGS)}


def known_reason(pair: Pair, metric: str) -> str:
    """Why a metric differs although training does not; empty if there is no such reason."""
    if metric == "learning_rate" and pair.drift:
        return "the rate after the step until transformers 5, that of the step since; see 'contract'"
    return rows_lost_by_the_original(pair) if metric.startswith("eval_") else ""


def rows_lost_by_the_original(pair: Pair) -> str:
    """The old trainer did not count every evaluation row where Ray Data and the Trainer both split.

    docs/semantics/data.md#split has the figures.

    Returns:
        What is known of it; empty if the original counts all of its rows, or the judged arm does not.
    """
    counted = [{event["rows"] for event in trace.first_rank.evaluations} for trace in pair.traces]
    given = [{len(rows) for rows in evaluated.values()} for evaluated in evaluated_rows(pair)]
    if len(given[0] | given[1]) == 1 and counted[1] == given[1] and counted[0] and max(counted[0]) < min(given[0]):
        return f"{pair.left.name} counts {min(counted[0])} of its {min(given[0])} rows, {pair.right.name} all"
    return ""


def _difference(left: Any, right: Any) -> float:
    if not all(isinstance(value, (int, float)) for value in (left, right)):
        return 0.0 if left == right else float("inf")
    relative = relative_difference(float(left), float(right))
    return min(relative, abs(float(left) - float(right))) if relative < float("inf") else relative
