"""Signatures of what is trained otherwise: rows, batches, settings, losses."""

from __future__ import annotations

from collections import Counter

from raymigrate.runtime.verify.diagnosis.signatures import signature
from raymigrate.runtime.verify.gates import asked
from raymigrate.runtime.verify.gates.contract import clipping, common_steps, optimizers_apart
from raymigrate.runtime.verify.gates.course import relative_difference
from raymigrate.runtime.verify.gates.end import workers_agree
from raymigrate.runtime.verify.pairs import Pair
from raymigrate.runtime.verify.results import Cause
from raymigrate.runtime.verify.trace import Attempt, Trace

ROUNDING = 1e-4  # relative; sums of a few thousand float32 in another order stay below


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
                told = f"{what} of {pair.right.name} are {ratios[0]:.4g} times those of {pair.left.name}; there are "
                return _scaled_by(workers, f"{told}{workers} workers", _batches_of_a_step(pair))
    return None


def _scaled_by(workers: int, evidence: str, accumulated: int) -> Cause:
    """By how many a loss is multiplied or divided; workers and batches of a step may be as many."""
    if accumulated == workers:
        return Cause(
            "loss scaled by the number of workers or of accumulated batches",
            f"{evidence}, and as many batches in a step",
            "divide by gradient_accumulation_steps once, as accelerator.backward() does, and average over workers once,"
            " as DDP does; in TrainingArguments average_tokens_across_devices=False",
        )
    return Cause(
        "loss scaled by the number of workers",
        evidence,
        "set average_tokens_across_devices=False in TrainingArguments, or average once: DDP averages gradients already",
    )


def _batches_of_a_step(pair: Pair) -> int:
    return max((len(step.batches) for step in pair.left.trace.first_rank.steps), default=0)


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
def number_of_batches(pair: Pair) -> Cause | None:
    """As many rows in each batch, but more batches, or fewer; passes without a loss do not count."""
    left, right = map(_batch_sizes, pair.traces)
    counts = [sum(len(step.losses) for step in trace.first_rank.steps) for trace in pair.traces]
    if left.keys() != right.keys() or counts[0] == counts[1]:
        return None
    return Cause(
        "another number of batches",
        f"{counts[0]} batches on the first worker of {pair.left.name}, {counts[1]} in {pair.right.name}, of "
        f"{' or '.join(map(str, sorted(left)))} rows",
        "compare drop_last, the number of epochs, and the rows of the dataset",
    )


@signature
def last_batch(pair: Pair) -> Cause | None:
    """Only some batches, the last of each pass, have another number of rows, or are left out."""
    left, right = map(_batch_sizes, pair.traces)
    if left == right or not left or not right or left.most_common(1)[0][0] != right.most_common(1)[0][0]:
        return None
    figures = (
        f"rows per batch: {dict(sorted(left.items()))} in {pair.left.name}, {dict(sorted(right.items()))} in "
        f"{pair.right.name}"
    )
    if len(left) == 1 < len(right) and max(right) == max(left):
        return Cause("incomplete batches are kept", figures, "give the loader drop_last=True, as in the original")
    if len(right) == 1 < len(left) and max(right) == max(left) and sum(right.values()) < sum(left.values()):
        return Cause("incomplete batches are dropped", figures, "give the loader drop_last=False, as in the original")
    if sum(left.values()) != sum(right.values()):
        return None
    return Cause(
        "the last batch of a pass",
        figures,
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
                apart = a.unequal_inputs(b)
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
        # One after the other: how many batches make a step is another matter.
        in_order.append([row for step in rows_by_step(trace.first_rank) for row in step])
        seen.append(Counter(row for a in trace.last.values() for step in rows_by_step(a) for row in step))
    if in_order[0] == in_order[1]:
        return None
    mostly_the_same = 2 * len(seen[0].keys() & seen[1].keys()) >= len(seen[0])
    if mostly_the_same and _repeats(in_order[1]) and not _repeats(in_order[0]):
        return Cause(
            "rows are not shuffled",
            f"each pass of {pair.right.name} has the rows in the same order, those of {pair.left.name} do not",
            "give the loader shuffle=True, or shuffle the Ray Dataset: random_shuffle()",
        )
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


def _repeats(rows: list[str]) -> bool:
    """Whether rows are several passes over a dataset, each in the same order."""
    lengths = (length for length in range(max(1, len(set(rows))), len(rows) // 2 + 1) if len(rows) % length == 0)
    return any(rows == rows[:length] * (len(rows) // length) for length in lengths)


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
    # Of another number of batches another schedule follows.
    as_many = sum(_batch_sizes(pair.left.trace).values()) == sum(_batch_sizes(pair.right.trace).values())
    if left_rates != right_rates and len(left_rates) == len(right_rates) and as_many:
        step = next(number for number, (a, b) in enumerate(zip(left_rates, right_rates, strict=True), 1) if a != b)
        return Cause(
            "another learning rate schedule",
            f"first at step {step}: {left_rates[step - 1]:.6g} and {right_rates[step - 1]:.6g}",
            "compare scheduler, warmup and number of steps",
        )
    return None


@signature
def clipped_otherwise(pair: Pair) -> Cause | None:
    """Gradients are clipped to another bound, or not at all."""
    left, right = clipping(pair)
    if set(left) == set(right):
        return None
    bounds = [", ".join(f"{bound:g}" for bound in sorted(found)) or "none" for found in (left, right)]
    return Cause(
        "gradients are clipped otherwise",
        f"the bound is {bounds[0]} in {pair.left.name}, {bounds[1]} in {pair.right.name}",
        "call clip_grad_norm_() with the bound of the original behind backward(), or give max_grad_norm=",
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
    apart = 0.0
    for rank in pair.ranks:
        for _, left, right in common_steps(*pair.attempts(rank)):
            losses += left.loss != right.loss
            norms += left.gradient_norm != right.gradient_norm
            apart = max(apart, relative_difference(left.loss, right.loss))
    if losses and pair.same_weights and not norms and apart <= ROUNDING:
        return Cause(
            "the loss is summed in another order",
            f"{losses} losses differ while every gradient norm and every final weight is bit-equal",
        )
    return None
