"""Gate "failure": when a worker dies in the middle, both jobs resume at the same step and end with the same weights.

An original without Ray has nothing that starts it anew. The converted job is compared with itself then: it resumes
behind its last checkpoint, and ends as the run in which nobody died.
"""

from __future__ import annotations

from raymigrate.runtime.verify.arms import Run
from raymigrate.runtime.verify.gates.end import weight_difference
from raymigrate.runtime.verify.gates.outcome import reported_checkpoints
from raymigrate.runtime.verify.pairs import Pair, bounded, check, not_applicable
from raymigrate.runtime.verify.results import Check, Gate


def gate(pair: Pair) -> Gate:
    """Compares the runs in which a worker was killed."""
    return Gate("failure", "Does the job resume where the original does, when a worker dies?", tuple(_checks(pair)))


def _checks(pair: Pair) -> list[Check]:
    if pair.as_they_are:
        return [not_applicable("resume", "nothing starts a script as it is anew")]
    if pair.killed is None:
        return [not_applicable("resume", "no worker was killed; --kill-worker does that")]
    left, right = pair.killed
    if left is None:
        return _alone(pair, right)
    resumed = resumption(pair)
    if resumed[0] is None or resumed[1] is None:
        names = " and ".join(run.name for run, step in zip((left, right), resumed, strict=True) if step is None)
        return [check("resume", False, f"{names} did not start again")]
    figures = f"behind step {resumed[0]}" if resumed[0] == resumed[1] else f"behind step {resumed[0]} and {resumed[1]}"
    return [
        check("resumed at the same step", resumed[0] == resumed[1], figures),
        _weights("weights after resuming", Pair(left, right, pair.tolerance)),
        _undisturbed(pair, left, right),
    ]


def _weights(name: str, pair: Pair) -> Check:
    """Whether two runs end with the same weights."""
    difference, where = (0.0, "") if pair.same_weights else weight_difference(pair)
    unequal = f"largest difference {difference:.2g} in {where}"
    return bounded(name, difference, pair.tolerance.weights, "bit-equal", unequal, what=pair.tolerance.reason)


def resumption(pair: Pair) -> list[int | None]:
    """The step behind which each killed run went on; None for one that did not start again."""
    runs = zip(pair.killed or (), (pair.left, pair.right), strict=False)
    return [_resumed_after(run, undisturbed) if run is not None else None for run, undisturbed in runs]


def _resumed_after(run: Run, undisturbed: Run) -> int | None:
    """A Hugging Face Trainer tells; in another loop it is what the last attempt left out of the whole."""
    attempts = run.trace.ranks[min(run.trace.ranks)]
    if len(attempts) < 2 or not attempts[-1].steps:
        return None
    first = attempts[-1].steps[0]
    if first.global_step is not None:
        return first.global_step - 1
    return len(undisturbed.trace.first_rank.steps) - len(attempts[-1].steps)


def last_checkpoint(killed: Run) -> int:
    """The step of the last checkpoint that was reported before a worker was killed; 0 if there was none."""
    return max(reported_checkpoints(killed.trace.ranks[min(killed.trace.ranks)][0]), default=0)


def _undisturbed(pair: Pair, left: Run, right: Run) -> Check:
    """Whether a resumed job ends like one that was not disturbed: not all do, but both or neither."""
    same = [
        run.trace.first_rank.final_weights == whole.trace.first_rank.final_weights
        for run, whole in ((left, pair.left), (right, pair.right))
    ]
    figures = {
        (True, True): "both end as if nothing had happened",
        (False, False): "neither ends as the undisturbed run: the job does not restore everything",
        (True, False): f"{left.name} ends as the undisturbed run, {right.name} does not",
        (False, True): f"{right.name} ends as the undisturbed run, {left.name} does not",
    }
    return check("against the undisturbed run", same[0] <= same[1], figures[same[0], same[1]])


def _alone(pair: Pair, killed: Run) -> list[Check]:
    """Whether a job goes on behind its last checkpoint, and ends as the run in which nobody died."""
    resumed = _resumed_after(killed, pair.right)
    if resumed is None:
        return [check("resume", False, f"{killed.name} did not start again")]
    saved = last_checkpoint(killed)
    figures = f"behind step {resumed}, and the last checkpoint was that of step {saved}"
    if not saved:
        figures = f"{'from the beginning' if not resumed else figures}: it had reported no checkpoint"
    undisturbed = Pair(pair.right, killed, pair.tolerance)
    return [
        check("resumed behind its last checkpoint", resumed == saved, figures),
        _weights("weights against the undisturbed run", undisturbed),
    ]
