"""Gate "outcome": what is left of the job when it is over: reports, `result.metrics`, and a checkpoint that loads."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from raymigrate.runtime.verify.gates import trials
from raymigrate.runtime.verify.gates.evaluation import compared_metrics, of_training
from raymigrate.runtime.verify.pairs import Pair, check, not_applicable
from raymigrate.runtime.verify.results import Check, Gate, Status
from raymigrate.runtime.verify.trace import Attempt, Trace


def gate(pair: Pair) -> Gate:
    """Compares reports, results and checkpoints."""
    checks = (
        _reports(pair),
        _reported_metrics(pair),
        _held(pair),
        _files(pair),
        _kept(pair),
        _result_metrics(pair),
        _checkpoint(pair),
        _loads(pair),
        _content(pair),
        _training(pair),
        _state(pair),
        trials.check_of(pair),
        _script(pair),
    )
    return Gate("outcome", "Do results and checkpoints hold the same?", checks)


def reported_checkpoints(attempt: Attempt) -> list[int]:
    """The steps at which a worker reported a checkpoint."""
    return [report["step"] for report in attempt.reports if report["checkpoint"]]


def _reports(pair: Pair) -> Check:
    left, right = (reported_checkpoints(trace.first_rank) for trace in pair.traces)
    if pair.left.arm.processes:
        return not_applicable("checkpoints reported", f"{pair.left.name} has no Ray to report to")
    if not left and not right:
        return not_applicable("checkpoints reported", "neither job reports one")
    figures = (
        f"after the steps {_steps(left)}" if left == right else f"after the steps {_steps(left)} and {_steps(right)}"
    )
    return check("checkpoints reported", left == right, figures)


def _reported_metrics(pair: Pair) -> Check:
    """What rank 0 reports: with each checkpoint it says which of them is the best.

    The old TransformersTrainer reported each time that Hugging Face's Trainer logged, and converted code when that
    saves; a loop of the user's own reports as often in both.
    """
    name = "metrics of each report"
    all_count = not any(trace.first_rank.trainer for trace in pair.traces)
    reports = [
        [report for report in trace.first_rank.reports if all_count or report["checkpoint"]] for trace in pair.traces
    ]
    if pair.left.arm.processes or not reports[0]:
        return not_applicable(name, f"{pair.left.name} reports {'nothing' if all_count else 'no checkpoint'}")
    if len(reports[0]) != len(reports[1]):
        figures = f"{len(reports[0])} and {len(reports[1])} reports"
        return check(name, False, figures) if all_count else not_applicable(name, "there are not as many in both")
    left, right = ([of_training(report["metrics"]) for report in of_run] for of_run in reports)
    return compared_metrics(name, left, right, pair)


def _held(pair: Pair) -> Check:
    """Whether each checkpoint holds the weights of the step at which it is reported."""
    name = "weights in each checkpoint"
    left, right = (held_by_step(trace) for trace in pair.traces)
    shared = sorted(left.keys() & right.keys())
    if not shared:
        return not_applicable(name, "no worker reports one that can be read in both")
    for step in shared:
        (a, total), (b, _) = left[step], right[step]
        if a != b:
            return check(name, False, f"after step {step}: {a} and {b} of {total} parameters are those of that step")
    complete = all(found == total for found, total in left.values())
    return check(name, True, "those of their step" if complete else "those of their step, as far as they are in both")


def held_by_step(trace: Trace) -> dict[int, tuple[int, int]]:
    """Step -> how many parameters its checkpoint holds as they are then, and how many there are."""
    reports = (report for report in trace.first_rank.reports if report.get("held"))
    return {report["step"]: tuple(report["held"]) for report in reports}


def _files(pair: Pair) -> Check:
    """Files that several workers report under one name: Train V2 keeps either, whichever comes last."""
    name = "files of each checkpoint"
    reported = pair.right.trace.last.values()
    if not any(report.get("files") for attempt in reported for report in attempt.reports):
        return not_applicable(name, f"{pair.right.name} reports none in a folder")
    found = files_apart(pair.right.trace)
    if found is None:
        return check(name, True, "no two workers report one name with other contents")
    step, file = found
    figures = f"after step {step} the workers of {pair.right.name} report {file}, not alike"
    return check(name, False, f"{figures}: which of them is kept is chance")


def files_apart(trace: Trace) -> tuple[int, str] | None:
    """Step and name of the first file that several workers report with other contents."""
    for reports in zip(*(attempt.reports for attempt in trace.last.values()), strict=False):
        versions: dict[str, set[str]] = {}
        for report in reports:
            for file, digest in report.get("files", {}).items():
                versions.setdefault(file, set()).add(digest)
        apart = [file for file, found in versions.items() if len(found) > 1]
        if apart:
            return reports[0]["step"], apart[0]
    return None


def _kept(pair: Pair) -> Check:
    """How many checkpoints are left; another version of Ray may also keep the last one, or not."""
    name = "checkpoints kept"
    left, right = pair.left.kept, pair.right.kept
    if not pair.one_fit or not left or right is None:
        return not_applicable(name, "compared where one fit() leaves some, on the same Ray")
    return check(name, left == right, f"{left}" if left == right else f"{left} and {right}")


def _steps(steps: list[int]) -> str:
    return ", ".join(map(str, steps)) or "none"


def _results(pair: Pair) -> tuple[dict[str, Any], dict[str, Any]] | None:
    left, right = (trace.results for trace in pair.traces)
    return (left[-1], right[-1]) if left and right else None


def _result_metrics(pair: Pair) -> Check:
    results = _results(pair)
    if results is None:
        return not_applicable("result.metrics", "fit() did not return in both")
    left, right = (of_training(result["metrics"]) for result in results)
    if not left:
        return not_applicable("result.metrics", f"{pair.left.name} has none")
    compared = compared_metrics("result.metrics", [left], [right], pair)
    why = kept_by_checkpoint(pair)
    if compared.status is Status.FAIL and why and not any(trace.reads_metrics for trace in pair.traces):
        return Check("result.metrics", Status.EXPLAINED, f"{why}; the script does not read them")
    return compared


def kept_by_checkpoint(pair: Pair) -> str:
    """Which report Train V2 makes `result.metrics` of: the last that carries a checkpoint (rule RM605).

    Returns:
        What is known of it; empty if that is the last report, or the original does not report its checkpoints then.
    """
    left, right = ([report["checkpoint"] for report in trace.first_rank.reports] for trace in pair.traces)
    if left != right or not right or right[-1]:
        return ""
    steps = reported_checkpoints(pair.right.trace.first_rank)
    if not steps:
        return f"no report carries a checkpoint, so result.metrics of {pair.right.name} is empty"
    return (
        f"the last report carries no checkpoint, so result.metrics of {pair.right.name} is that after step {steps[-1]}"
    )


def _checkpoint(pair: Pair) -> Check:
    results = _results(pair)
    if results is None:
        return not_applicable("result.checkpoint", "fit() did not return in both")
    left, right = (result["checkpoint"] is not None for result in results)
    figures = {
        (True, True): "there is one in both",
        (False, False): "there is none in either",
        (True, False): f"there is one in {pair.left.name}, none in {pair.right.name}",
        (False, True): f"there is none in {pair.left.name}, one in {pair.right.name}",
    }
    return check("result.checkpoint", left <= right, figures[left, right])


def _loads(pair: Pair) -> Check:
    """Every parameter is found again in the checkpoint, with the value that the other arm's checkpoint has."""
    results = _results(pair)
    if results is None or not all(result["checkpoint"] for result in results):
        return not_applicable("checkpoint loads back", "there are not two checkpoints")
    (total, stored, final), (total_right, stored_right, final_right) = map(_found_again, pair.traces)
    if not stored:
        return not_applicable("checkpoint loads back", f"the checkpoint of {pair.left.name} holds no parameter by name")
    same = (total, stored, final) == (total_right, stored_right, final_right)
    complete = stored == total and final == total
    figures = f"all {total} parameters, " + (
        "with the final weights" if complete else f"{final} with the final weights"
    )
    if not same:
        figures = (
            f"{stored} and {stored_right} of {total} parameters are stored, {final} and {final_right} with the final "
            "weights"
        )
    return check("checkpoint loads back", same and stored == total, figures)


def _found_again(trace: Trace) -> tuple[int, int, int]:
    """How many parameters a model has, how many the last checkpoint holds, and how many of these as they end."""
    weights = trace.first_rank.final_weights or {}
    kept = stored_weights(weights, trace.results[-1]["checkpoint"]["tensors"])
    return len(weights), len(kept), sum(kept[name] == weights[name] for name in kept)


def stored_at_the_end(trace: Trace) -> int | None:
    """How many parameters the last checkpoint holds as the training ends; None if there is no checkpoint of all."""
    if not trace.results or not trace.results[-1]["checkpoint"]:
        return None
    total, stored, final = _found_again(trace)
    return final if stored == total else None


def _content(pair: Pair) -> Check:
    """The model's tensors as they are written: a name with another prefix is not found by load_state_dict().

    Other versions of the libraries keep other buffers: until 4.30 transformers stored `position_ids`. So between them
    parameters alone are compared.
    """
    name = "content of the checkpoint"
    results = _results(pair)
    if results is None or not all(result["checkpoint"] for result in results):
        return not_applicable(name, "there are not two checkpoints")
    left, right = (result["checkpoint"].get("stored", {}) for result in results)
    if pair.drift:
        parameters = (pair.left.trace.first_rank.final_weights or {}).keys()
        left, right = (_of_parameters(stored, parameters) for stored in (left, right))
    if not left or not right:
        return not_applicable(name, "there is no file whose tensors can be read in both")
    lost, new = sorted(left.keys() - right.keys()), sorted(right.keys() - left.keys())
    if lost:
        others = f", but has {new[0]}" if new else ""
        figures = f"{pair.right.name} lacks {len(lost)} of {len(left)} tensors, the first is {lost[0]}{others}"
        return check(name, False, figures)
    # Values are those of the final weights, which have a bound of their own across libraries.
    parts = slice(3) if not pair.tolerance.reason else slice(2)
    apart = sorted(key for key in left if left[key][parts] != right[key][parts])
    if apart:
        a, b = (f"{stored[apart[0]][1]} {stored[apart[0]][0]}" for stored in (left, right))
        how = f": {a} and {b}" if a != b else " has other values"
        return check(name, False, f"{len(apart)} of {len(left)} tensors differ, the first is {apart[0]}{how}")
    more = f"; {pair.right.name} has {len(new)} more" if new else ""
    return check(name, True, f"{len(left)} tensors have the same names, shapes and dtypes{more}")


def _of_parameters(stored: dict[str, Any], parameters: Collection[str]) -> dict[str, Any]:
    """What is stored of parameters, whatever stands before their names."""
    kept = {}
    for name, tensor in stored.items():
        parts = tensor[-1].split(".")
        if any(".".join(parts[start:]) in parameters for start in range(len(parts))):
            kept[name] = tensor
    return kept


def _training(pair: Pair) -> Check:
    """What optimizer and scheduler go on with after resuming, where both arms store it.

    Across libraries, their own bookkeeping differs.
    """
    name = "optimizer and scheduler in the checkpoint"
    results = _results(pair) or ()
    states = [(result["checkpoint"] or {}).get("training") for result in results]
    if not states or not states[0]:
        return not_applicable(name, f"{pair.left.name} stores none in a file of its own")
    if pair.drift or pair.tolerance.reason:
        return not_applicable(name, "compared only between equal libraries, where numbers are equal to the bit")
    left, right = states[0], states[1] or {}
    lost = sorted(left.keys() - right.keys())
    if lost:
        return check(name, False, f"{pair.right.name} lacks {len(lost)} of {len(left)} values, the first is {lost[0]}")
    apart = sorted(key for key in left if left[key] != right[key])
    if apart:
        a, b = (state[apart[0]] for state in (left, right))
        return check(name, False, f"{len(apart)} of {len(left)} values differ, the first is {apart[0]}: {a} and {b}")
    return check(name, True, f"{len(left)} values are the same")


def stored_weights(weights: dict[str, str], tensors: dict[str, list[str]]) -> dict[str, str]:
    """Parameter -> hash in the checkpoint, whatever the checkpoint put before its name ("model.", ...)."""
    by_end: dict[str, str] = {}
    for name, digests in tensors.items():
        parts = name.split(".")
        for start in range(len(parts)):
            by_end.setdefault(".".join(parts[start:]), digests[-1])
    return {name: by_end[name] for name in weights if name in by_end}


def _state(pair: Pair) -> Check:
    results = _results(pair)
    states = [(result["checkpoint"] or {}).get("state") for result in results or ()]
    if not states or states[0] is None:
        return not_applicable("Trainer's state", "there is no trainer_state.json")
    if states[1] is None:
        return check("Trainer's state", False, f"there is no trainer_state.json in {pair.right.name} that can be read")
    steps = [state["step"] for state in states if state]
    epochs = [round(state["epoch"], 6) for state in states if state]
    figures = f"step {steps[0]}, epoch {epochs[0]:g}"
    if steps[0] != steps[1] or epochs[0] != epochs[1]:
        figures += f" and step {steps[1]}, epoch {epochs[1]:g}"
    return check("Trainer's state", steps[0] == steps[1] and epochs[0] == epochs[1], figures)


def _script(pair: Pair) -> Check:
    """A script may fail after its training, such as at a key of `result.metrics` that is no longer there."""
    left, right = (
        f"exit status {run.status}{f' ({run.error})' if run.error else ''}" for run in (pair.left, pair.right)
    )
    figures = f"{left} in both" if left == right else f"{left} in {pair.left.name}, {right} in {pair.right.name}"
    return check("end of the script", left == right, figures)
