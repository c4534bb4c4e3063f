"""What the trials of a Tuner ended with; part of the gate "outcome"."""

from typing import Any

from raymigrate.runtime.verify.gates.evaluation import compared_metrics, of_training
from raymigrate.runtime.verify.pairs import Pair, check, not_applicable
from raymigrate.runtime.verify.results import Check, Status

NAME = "results of the trials"
REPORTS = "training_iteration"  # Tune's count of the reports of a trial
LETS_RUN = "FIFOScheduler"  # the scheduler that ends no trial


def check_of(pair: Pair) -> Check:
    """Compares settings, metrics and checkpoints of all trials, in the order in which they were made."""
    if not pair.left.trace.searches:
        return not_applicable(NAME, f"{pair.left.name} makes no Tuner")
    left, right = ([trial for search in trace.searches for trial in search["trials"]] for trace in pair.traces)
    if len(left) != len(right):
        return check(NAME, False, f"{len(left)} and {len(right)} trials")
    scheduler = next(filter(None, (search["scheduler"] for search in pair.left.trace.searches)), LETS_RUN)
    stopped, ends = [], []
    for number, (a, b) in enumerate(zip(left, right, strict=True), 1):
        reports = [trial["metrics"].get(REPORTS) for trial in (a, b)]
        if scheduler != LETS_RUN and reports[0] != reports[1]:
            stopped.append(f"trial {number} after {reports[0]} and {reports[1]} reports")
            continue
        apart = _apart(a, b, left, pair)
        if apart:
            return check(NAME, False, f"trial {number}: {apart}")
        ends.append((of_training(a["metrics"]), of_training(b["metrics"])))
    compared = compared_metrics(NAME, [a for a, _ in ends], [b for _, b in ends], pair)
    figures = f"{len(left)} trials, {compared.figures}"
    if stopped and compared.status is not Status.FAIL:
        why = f"{scheduler} ends {', '.join(stopped)}: it goes by what others have reported until then"
        return Check(NAME, Status.EXPLAINED, f"{why}; of the others {compared.figures}")
    return Check(NAME, compared.status, figures)


def _apart(left: dict[str, Any], right: dict[str, Any], trials: list[dict[str, Any]], pair: Pair) -> str:
    """In what two trials differ besides their metrics; empty if in nothing."""
    for key, value in left["settings"].items():
        # What is the same in all trials, a conversion may say elsewhere.
        searched = any(trial["settings"].get(key) != value for trial in trials)
        if right["settings"].get(key, None if searched else value) != value:
            return f"{key} is {value} and {right['settings'].get(key)}"
    if left["error"] != right["error"]:
        return f"error {left['error']} and {right['error']}"
    stored = [(trial["checkpoint"] or {}).get("stored") for trial in (left, right)]
    if (stored[0] is None) != (stored[1] is None):
        return f"{pair.left.name if stored[1] is None else pair.right.name} alone ends with a checkpoint"
    if not pair.drift and stored[0] != stored[1]:
        return "the checkpoints hold other tensors"
    return ""
