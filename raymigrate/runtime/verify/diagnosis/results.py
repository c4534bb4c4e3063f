"""Signatures of what comes of the training otherwise: evaluation, reports, checkpoints, resuming, the script's end."""

from __future__ import annotations

from raymigrate.run.rules import rules_by_text
from raymigrate.runtime.verify.diagnosis.signatures import signature
from raymigrate.runtime.verify.diagnosis.training import rows_by_step
from raymigrate.runtime.verify.gates.evaluation import (
    evaluated_rows,
    of_training,
    rows_by_metric,
    rows_lost_by_the_original,
)
from raymigrate.runtime.verify.gates.failure import last_checkpoint, resumption
from raymigrate.runtime.verify.gates.outcome import (
    files_apart,
    held_by_step,
    kept_by_checkpoint,
    reported_checkpoints,
    stored_at_the_end,
)
from raymigrate.runtime.verify.pairs import Pair
from raymigrate.runtime.verify.results import Cause


@signature
def evaluation_split(pair: Pair) -> Cause | None:
    """A job evaluates a part of the rows only, or counts each several times."""
    left, right = (next(iter(evaluated.values()), set()) for evaluated in evaluated_rows(pair))
    counted = [[event["rows"] for event in trace.first_rank.evaluations][:1] for trace in pair.traces]
    if left and not right:
        return (
            None
            if _evaluates_while_training(pair)
            else Cause(
                "the evaluation is missing",
                f"{pair.left.name} evaluates {len(left)} rows, {pair.right.name} none",
                "evaluate where the original does, after model.eval()",
            )
        )
    if right < left:
        return Cause(
            "evaluation rows split away",
            f"{pair.right.name} evaluates {len(right)} of {len(left)} rows with {pair.left.trace.world_size} workers",
            'give every worker the whole evaluation set: DataConfig(datasets_to_split=["train"])',
        )
    if counted[0] and counted[1] and counted[1][0] > max(counted[0][0], len(left)):
        return Cause(
            "evaluation rows counted several times",
            f"metrics are made of {counted[0][0]} rows in {pair.left.name} and of {counted[1][0]} in {pair.right.name}",
            "let one side split the evaluation set, the Trainer or Ray Data, not neither",
        )
    return None


@signature
def training_rows_evaluated(pair: Pair) -> Cause | None:
    """A job evaluates rows that it trains on; the other one does not."""
    found = []
    for trace, evaluated in zip(pair.traces, evaluated_rows(pair), strict=True):
        trained = {row for attempt in trace.last.values() for step in rows_by_step(attempt) for row in step}
        rows = set().union(*evaluated.values())
        found.append((len(rows & trained), len(rows)))
    (left, of_left), (right, of_right) = found
    if not of_left or not of_right or right * of_left <= left * of_right:
        return None
    return Cause(
        "training rows are evaluated",
        f"{right} of the {of_right} rows that {pair.right.name} evaluates are trained on, {left} of {of_left} in "
        f"{pair.left.name}",
        "evaluate the split that the original evaluates",
    )


@signature
def evaluated_while_training(pair: Pair) -> Cause | None:
    """A job evaluates without model.eval(): the passes count as training then, with dropout."""
    if not _evaluates_while_training(pair):
        return None
    passes = [sum(len(step.batches) for step in trace.first_rank.steps) for trace in pair.traces]
    return Cause(
        "the evaluation runs in training mode",
        f"{pair.right.name} calls its model {passes[1]} times in training mode, {pair.left.name} {passes[0]} times and "
        "for evaluation besides",
        "call model.eval() before the evaluation",
    )


def _evaluates_while_training(pair: Pair) -> bool:
    left, right = evaluated_rows(pair)
    passes = [sum(len(step.batches) for step in trace.first_rank.steps) for trace in pair.traces]
    return bool(left) and not right and passes[1] > passes[0]


@signature
def part_of_the_rows(pair: Pair) -> Cause | None:
    """A metric of the user's own loop gets fewer rows on a worker."""
    for rank in pair.ranks:
        left, right = (rows_by_metric(attempt) for attempt in pair.attempts(rank))
        for (step, metric), events in left.items():
            elsewhere = (step, metric) not in right and any(name == metric for _, name in right)
            a, b = (sum(event["rows"] for event in found) for found in (events, right.get((step, metric), [])))
            if b < a and not elsewhere:  # it may evaluate after other steps
                return Cause(
                    "metrics of a part of the rows",
                    f"{metric} gets {a} rows after step {step} on rank {rank} in {pair.left.name}, {b} in "
                    f"{pair.right.name}",
                    "gather what the workers predict with accelerator.gather_for_metrics() before a metric sees it",
                )
    return None


@signature
def rows_lost(pair: Pair) -> Cause | None:
    """The original counts fewer rows than it evaluates: a defect of the old trainer, which is not repeated."""
    lost = rows_lost_by_the_original(pair)
    return Cause("the old trainer lost evaluation rows", lost) if lost else None


@signature
def final_checkpoint(pair: Pair) -> Cause | None:
    """The last checkpoint, or all of them, are not reported."""
    left, right = (reported_checkpoints(trace.first_rank) for trace in pair.traces)
    if left == right or not left or (right and right[-1] >= left[-1]):
        return None
    last = f"the last one after step {right[-1]}" if right else "none at all"
    return Cause(
        "the final checkpoint is missing",
        f"{pair.left.name} reports one after step {left[-1]}, {pair.right.name} {last}",
        "save and report at the end of training, whatever save_strategy is",
    )


@signature
def stale_checkpoint(pair: Pair) -> Cause | None:
    """A checkpoint holds the weights of an earlier step."""
    remedy = "save behind the optimizer step, and report the folder that was just saved"
    name = "a checkpoint holds the weights of an earlier step"
    left, right = (held_by_step(trace) for trace in pair.traces)
    for step in sorted(left.keys() & right.keys()):
        (found, total), (kept, _) = left[step], right[step]
        if kept < found == total:
            told = f"{kept} of {total} parameters in that of step {step} are those of the step in {pair.right.name}"
            return Cause(name, f"{told}, all in {pair.left.name}", remedy)
    ends = [stored_at_the_end(trace) for trace in pair.traces]
    total = len(pair.left.trace.first_rank.final_weights or {})
    if None in ends or ends[0] != total or ends[1] == total:
        return None
    told = (
        f"{ends[1]} of {total} parameters in the last one of {pair.right.name} are those with which the training ends"
    )
    return Cause(name, f"{told}, all in {pair.left.name}", remedy)


@signature
def metrics_without_checkpoint(pair: Pair) -> Cause | None:
    """Train V2 makes `result.metrics` of the last report that carries a checkpoint (rule RM605)."""
    results = [of_training(trace.results[-1]["metrics"]) if trace.results else {} for trace in pair.traces]
    why = kept_by_checkpoint(pair)
    if not why or not results[0] or results[0] == results[1]:
        return None
    return Cause(
        "metrics without a checkpoint are not kept",
        f"{why} on Ray >= 2.51 (RM605)",
        "report a checkpoint with the metrics, or return them from the train function and read result.return_value"
        " (Ray >= 2.56)",
    )


@signature
def resume_dropped(pair: Pair) -> Cause | None:
    """After a worker died, a job begins from the start again."""
    if pair.killed is None:
        return None
    left, right = resumption(pair)
    wanted = f"{pair.left.name} goes on behind step {left}"
    if pair.killed[0] is None:
        left = last_checkpoint(pair.killed[1])
        wanted = f"there is a checkpoint of step {left}"
    if right is None or left is None or right >= left:
        return None
    told = f"after the failure {wanted}, {pair.right.name} goes on behind step {right}"
    attempts = pair.killed[1].trace.ranks[min(pair.ranks)]
    if attempts[0].initial_weights != attempts[-1].initial_weights:
        return Cause(
            "the training begins anew with the saved weights",
            f"{told}, with other weights than at first",
            "load steps, optimizer and scheduler from the checkpoint too, or give trainer.train() the folder as"
            " resume_from_checkpoint",
        )
    return Cause("the checkpoint is not resumed from", told, "load ray.train.get_checkpoint() before training")


@signature
def optimizer_begins_anew(pair: Pair) -> Cause | None:
    """After a worker died, weights are loaded and the state of the optimizer is not."""
    resumed = resumption(pair)[1] if pair.killed is not None else None
    if pair.killed is None or not resumed:
        return None
    right = pair.killed[1].trace.first_rank
    # Without Ray before the conversion it is told by what the checkpoint holds.
    left = pair.killed[0].trace.first_rank.optimizer if pair.killed[0] is not None else {}
    results = pair.right.trace.results
    stored = bool(results and (results[-1]["checkpoint"] or {}).get("training"))
    if right.optimizer.get("goes_on", True) or not (left.get("goes_on") or stored):
        return None
    return Cause(
        "the optimizer begins anew",
        f"after the failure the optimizer of {pair.right.name} has no state at its first step",
        "load the state of optimizer and scheduler from the checkpoint too, or give trainer.train() the folder as"
        " resume_from_checkpoint",
    )


@signature
def files_of_several_workers(pair: Pair) -> Cause | None:
    """Several workers report other files under the same name."""
    found = files_apart(pair.right.trace)
    if found is None:
        return None
    step, file = found
    return Cause(
        "every worker writes the checkpoint",
        f"after step {step} {file} is not alike on the workers of {pair.right.name}, and Ray keeps either",
        "save and report on rank 0 alone, or wait with a barrier until what all of them copy is written",
    )


@signature
def shuffled_as_at_first(pair: Pair) -> Cause | None:
    """After a worker died, rows come again in the order of the first epoch (docs/semantics/plain-accelerate.md)."""
    resumed = resumption(pair)[1] if pair.killed is not None else None
    if pair.killed is None or not resumed:
        return None
    whole, killed = (rows_by_step(run.trace.first_rank) for run in (pair.right, pair.killed[1]))
    if not killed or killed == whole[resumed:] or killed[0] != whole[0]:
        return None
    if pair.killed[0] is not None and rows_by_step(pair.killed[0].trace.first_rank) == killed:
        return None  # as the original does
    return Cause(
        "after the failure the rows come in the order of the first epoch",
        f"step {resumed + 1} of {pair.killed[1].name} has the rows of step 1",
        "use_seedable_sampler=True in DataLoaderConfiguration, and train_loader.iteration = epoch before the loop",
    )


@signature
def library_versions(pair: Pair) -> Cause | None:
    """Other versions of the libraries that compute, where something differs that nothing above explains."""
    left, right = (trace.versions for trace in pair.traces)
    names = ("torch", "transformers", "accelerate")
    apart = [f"{name} {left.get(name)} and {right.get(name)}" for name in names if left.get(name) != right.get(name)]
    return Cause("other library versions", "; ".join(apart)) if apart and not pair.same_weights else None


@signature
def script_failed_after_training(pair: Pair) -> Cause | None:
    """One script ends with an error when its training is over, or the two with different ones."""
    left, right = pair.left, pair.right
    failed = right if right.error else left
    if not failed.error or left.error == right.error:
        return None
    rules = "; ".join(f"{rule.code}: {rule.fix}" for rule in rules_by_text(failed.error))
    return Cause(
        "the script fails after its training",
        f"{failed.name} ends with {failed.error}",
        rules or "what was recorded of its training is compared all the same",
    )
