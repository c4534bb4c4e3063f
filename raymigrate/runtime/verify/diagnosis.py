"""Names the reason of a difference by its signature.

Each function looks at a pair for one signature, and returns a `Cause` or nothing. They are asked in the order in which
they stand here; several may answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from raymigrate.run.rules import rules_by_text
from raymigrate.runtime.verify.gates import asked
from raymigrate.runtime.verify.gates.contract import common_steps, optimizers_apart
from raymigrate.runtime.verify.gates.end import workers_agree
from raymigrate.runtime.verify.gates.evaluation import evaluated_rows, rows_by_metric, rows_lost_by_the_original
from raymigrate.runtime.verify.gates.failure import last_checkpoint, resumption
from raymigrate.runtime.verify.gates.outcome import kept_by_checkpoint, reported_checkpoints
from raymigrate.runtime.verify.pairs import Pair
from raymigrate.runtime.verify.results import Cause
from raymigrate.runtime.verify.trace import Attempt, Trace

Signature = Callable[[Pair], "Cause | None"]
SIGNATURES: list[Signature] = []


def signature(function: Signature) -> Signature:
    """Decorator: `diagnose` asks the function."""
    SIGNATURES.append(function)
    return function


def diagnose(pair: Pair) -> tuple[Cause, ...]:
    """The named reasons for what differs between two runs."""
    return tuple(cause for ask in SIGNATURES if (cause := ask(pair)) is not None)


@signature
def averaged_over_devices(pair: Pair) -> Cause | None:
    """Losses or gradient norms of all steps have the ratio of the number of workers."""
    workers = pair.left.trace.world_size
    for quantity, what in (("loss", "losses"), ("gradient_norm", "gradient norms")):
        ratios = []
        for rank in pair.ranks:
            for _, left, right in common_steps(*pair.attempts(rank)):
                a, b = getattr(left, quantity), getattr(right, quantity)
                if a and b:
                    ratios.append(b / a)
        if workers < 2 or len(ratios) < 2:
            continue
        for factor in (float(workers), 1 / workers):
            # Later steps drift apart, because the weights do; the first ones show the factor.
            if all(abs(ratio / factor - 1) < 0.02 for ratio in ratios[:2]):
                return Cause(
                    "loss scaled by the number of workers",
                    f"{what} of {pair.right.name} are {ratios[0]:.4g} times those of {pair.left.name}; there are "
                    f"{workers} workers",
                    "set average_tokens_across_devices=False in TrainingArguments, or average once: DDP averages "
                    "gradients already",
                )
    return None


@signature
def workers_trained_apart(pair: Pair) -> Cause | None:
    """The workers of one job end with different weights, those of the other do not."""
    left, right = map(workers_agree, pair.traces)
    if left == right:
        return None
    name = pair.left.name if right else pair.right.name
    return Cause(
        "workers trained without each other",
        f"the workers of {name} end with different weights",
        "on CPU workers give Accelerator(cpu=True) or TrainingArguments(use_cpu=True): without it there is no DDP",
    )


@signature
def asked_otherwise(pair: Pair) -> Cause | None:
    """The scripts ask for different things, which a pin or an override may hide."""
    return asked.cause(pair)


@signature
def defaults_of_the_trainer(pair: Pair) -> Cause | None:
    """What neither script says is another default in the other version of the Trainer."""
    changed = asked.changed_defaults(pair)
    if not changed:
        return None
    old, new = (trace.versions.get("transformers") for trace in pair.traces)
    told = [f"{name} is {a} in transformers {old} and {b} in {new}" for name, (a, b) in changed.items()]
    return Cause(
        f"other defaults of the Trainer ({', '.join(changed)})",
        f"by default {'; '.join(told)}",
        f"write down {', '.join(changed)} in TrainingArguments to keep the value of {pair.left.name}",
    )


def rows_by_step(attempt: Attempt) -> list[list[str]]:
    """The rows that a worker saw in each step."""
    return [[row for batch in step.batches for row in batch.rows] for step in attempt.steps]


def _batch_sizes(trace: Trace) -> Counter[int]:
    return Counter(len(batch.rows) for step in trace.first_rank.steps for batch in step.batches)


@signature
def batch_size(pair: Pair) -> Cause | None:
    """Most batches have another number of rows."""
    sizes = [_batch_sizes(trace).most_common(1) for trace in pair.traces]
    if not all(sizes) or sizes[0][0][0] == sizes[1][0][0]:
        return None
    left, right = sizes[0][0][0], sizes[1][0][0]
    steps = [len(trace.first_rank.steps) for trace in pair.traces]
    return Cause(
        "another batch size",
        f"{left} rows and {steps[0]} steps in {pair.left.name}, {right} rows and {steps[1]} steps in {pair.right.name}",
        "give the loader the batch size that the arguments name, per_device_train_batch_size",
    )


@signature
def last_batch(pair: Pair) -> Cause | None:
    """Only some batches, the last of each pass, have another number of rows."""
    left, right = map(_batch_sizes, pair.traces)
    if left == right or not left or not right or left.most_common(1)[0][0] != right.most_common(1)[0][0]:
        return None
    if sum(left.values()) != sum(right.values()):
        return None
    return Cause(
        "the last batch of a pass",
        f"rows per batch: {dict(sorted(left.items()))} in {pair.left.name}, {dict(sorted(right.items()))} in "
        f"{pair.right.name}",
        "complete the last batch from the first rows, as the old trainer did, or set dataloader_drop_last in both",
    )


@signature
def collator(pair: Pair) -> Cause | None:
    """The same rows are in other tensors: other padding, masks or labels."""
    for rank in pair.ranks:
        for number, left, right in common_steps(*pair.attempts(rank)):
            for a, b in zip(left.batches, right.batches, strict=False):
                if a.rows != b.rows:
                    return None
                shared = a.tensors.keys() & b.tensors.keys()
                apart = sorted(name for name in shared if a.tensors[name][::2] != b.tensors[name][::2])
                lost = sorted(a.tensors.keys() - b.tensors.keys())
                if apart or lost:
                    name = (apart or lost)[0]
                    shapes = [list(batch.tensors[name][0]) if name in batch.tensors else "nothing" for batch in (a, b)]
                    return Cause(
                        "another collator or padding",
                        f"the rows of step {number} are the same, {name} is {shapes[0]} in {pair.left.name} and "
                        f"{shapes[1]} in {pair.right.name}",
                        "pass the original data_collator on to the loader that makes the batches",
                    )
    return None


@signature
def data_order(pair: Pair) -> Cause | None:
    """Altogether the same rows were seen, but not in the same steps; or rows are missing."""
    seen = []
    in_order = []
    for trace in pair.traces:
        steps = [[row for batch in step.batches for row in batch.rows] for step in trace.first_rank.steps]
        in_order.append(steps)
        seen.append(Counter(row for a in trace.last.values() for s in a.steps for b in s.batches for row in b.rows))
    if in_order[0] == in_order[1]:
        return None
    if seen[0] == seen[1]:
        return Cause(
            "rows in another order", "both jobs saw the same rows equally often, in other steps or on other workers"
        )
    lost = seen[0].keys() - seen[1].keys()
    if lost and seen[1].keys() < seen[0].keys():
        return Cause(
            "rows are missing",
            f"{len(lost)} of {len(seen[0])} rows of {pair.left.name} are never seen in {pair.right.name}",
            "check how the dataset is split among the workers",
        )
    return None


@signature
def schedule_length(pair: Pair) -> Cause | None:
    """The learning rate falls to zero earlier than it should."""
    ends = []
    for trace in pair.traces:
        rates = [step.learning_rates[0] for step in trace.first_rank.steps if step.learning_rates]
        peak = max(rates, default=0.0)
        zeros = [
            number for number, rate in enumerate(rates, 1) if peak and rate < peak * 1e-3 and number > rates.index(peak)
        ]
        ends.append((zeros[0] if zeros else None, len(rates), rates))
    (left, left_count, left_rates), (right, right_count, right_rates) = ends
    if right is not None and right < right_count and (left is None or right < left):
        return Cause(
            "the learning rate reaches zero early",
            f"at step {right} of {right_count} in {pair.right.name}"
            + (f", at step {left} of {left_count} in {pair.left.name}" if left else f", never in {pair.left.name}"),
            "give the scheduler the steps of the whole training; prepared by accelerate, it moves once per worker",
        )
    if left_rates != right_rates and len(left_rates) == len(right_rates):
        step = next(number for number, (a, b) in enumerate(zip(left_rates, right_rates, strict=True), 1) if a != b)
        return Cause(
            "another learning rate schedule",
            f"first at step {step}: {left_rates[step - 1]:.6g} and {right_rates[step - 1]:.6g}",
            "compare scheduler, warmup and number of steps",
        )
    return None


@signature
def evaluation_split(pair: Pair) -> Cause | None:
    """A job evaluates a part of the rows only, or counts each several times."""
    left, right = (next(iter(evaluated.values()), set()) for evaluated in evaluated_rows(pair))
    counted = [[event["rows"] for event in trace.first_rank.evaluations][:1] for trace in pair.traces]
    if left and right < left:
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
def part_of_the_rows(pair: Pair) -> Cause | None:
    """A metric of the user's own loop gets fewer rows on a worker."""
    for rank in pair.ranks:
        left, right = (rows_by_metric(attempt) for attempt in pair.attempts(rank))
        for (step, metric), events in left.items():
            a, b = (sum(event["rows"] for event in found) for found in (events, right.get((step, metric), [])))
            if b < a:
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
def metrics_without_checkpoint(pair: Pair) -> Cause | None:
    """Train V2 makes `result.metrics` of the last report that carries a checkpoint (rule RM605)."""
    traces = (pair.left.trace, pair.right.trace)
    kept = [bool(trace.results and trace.results[-1]["metrics"]) for trace in traces]
    if kept != [True, False] or not kept_by_checkpoint(pair):
        return None
    return Cause(
        "metrics without a checkpoint are not kept",
        f"no report carries one, so result.metrics of {pair.right.name} is empty on Ray >= 2.51 (RM605)",
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
    if right is not None and left is not None and right < left:
        return Cause(
            "the checkpoint is not resumed from",
            f"after the failure {wanted}, {pair.right.name} goes on behind step {right}",
            "load ray.train.get_checkpoint() before training",
        )
    return None


@signature
def shuffled_as_at_first(pair: Pair) -> Cause | None:
    """After a worker died, rows come again in the order of the first epoch (docs/semantics/plain-accelerate.md)."""
    resumed = resumption(pair)[1] if pair.killed is not None else None
    if pair.killed is None or not resumed:
        return None
    whole, killed = (rows_by_step(run.trace.first_rank) for run in (pair.right, pair.killed[1]))
    if not killed or killed == whole[resumed:] or killed[0] != whole[0]:
        return None
    return Cause(
        "after the failure the rows come in the order of the first epoch",
        f"step {resumed + 1} of {pair.killed[1].name} has the rows of step 1",
        "use_seedable_sampler=True in DataLoaderConfiguration, and train_loader.iteration = epoch before the loop",
    )


@signature
def optimizer(pair: Pair) -> Cause | None:
    """Another optimizer class, or the same with other settings."""
    left, right = (trace.first_rank.optimizer.get("optimizer") for trace in pair.traces)
    if left != right:
        return Cause("another optimizer", f"{left} in {pair.left.name}, {right} in {pair.right.name}")
    apart = [what for what in optimizers_apart(pair) if not what.startswith("lr ")]  # that is the schedule's
    return Cause("other settings of the optimizer", "; ".join(apart)) if apart else None


@signature
def dtype(pair: Pair) -> Cause | None:
    """The weights have another dtype, such as that of the checkpoint, which transformers 5 takes by default."""
    left, right = ("/".join(trace.first_rank.model.get("dtypes", ())) for trace in pair.traces)
    if left == right or not left or not right:
        return None
    return Cause(
        "another dtype of the weights",
        f"{left} in {pair.left.name}, {right} in {pair.right.name}",
        "name it where the model is loaded: from_pretrained(..., dtype=...)",
    )


@signature
def attention(pair: Pair) -> Cause | None:
    """Another attention implementation; old libraries had eager alone and do not tell."""
    left, right = (trace.first_rank.model.get("attention") or "eager" for trace in pair.traces)
    if left == right:
        return None
    return Cause("another attention implementation", f"{left} in {pair.left.name}, {right} in {pair.right.name}")


@signature
def reduction(pair: Pair) -> Cause | None:
    """Weights and gradient norms are equal while the losses are not: they are only summed up in another way."""
    losses = norms = 0
    for rank in pair.ranks:
        for _, left, right in common_steps(*pair.attempts(rank)):
            losses += left.loss != right.loss
            norms += left.gradient_norm != right.gradient_norm
    same = all(a.final_weights == b.final_weights for a, b in map(pair.attempts, pair.ranks))
    if losses and same and not norms:
        return Cause(
            "the loss is summed in another order",
            f"{losses} losses differ while every gradient norm and every final weight is bit-equal",
        )
    return None


@signature
def library_versions(pair: Pair) -> Cause | None:
    """Other versions of the libraries that compute, where something differs that nothing above explains."""
    left, right = (trace.versions for trace in pair.traces)
    names = ("torch", "transformers", "accelerate")
    apart = [f"{name} {left.get(name)} and {right.get(name)}" for name in names if left.get(name) != right.get(name)]
    same = all(a.final_weights == b.final_weights for a, b in map(pair.attempts, pair.ranks))
    return Cause("other library versions", "; ".join(apart)) if apart and not same else None


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
