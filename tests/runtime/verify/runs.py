"""Runs of made-up arms, so that a test can say in one line in what two arms differ."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

from raymigrate.runtime.verify.arms import Arm, Run
from raymigrate.runtime.verify.pins import PINS
from raymigrate.runtime.verify.trace import Attempt, Batch, Step, Trace

ROWS = 16  # rows of the training set; every pass goes over all of them
WORKERS = 2
BATCH = 2
STEPS = 8
VERSIONS = {"torch": "2.13.0", "transformers": "5.23.0", "accelerate": "1.15.0"}


def made_up(name: str = "B", **changes: Any) -> Run:
    """A run of two workers that differs from another in what is named in `changes` only.

    Args:
        name: Name of the run.
        changes: Changes of `attempt`; `versions`, `checkpoint`, `metrics`, `prefix` of the names in the checkpoint,
            `held`, the weights in it, and `training`, the state of its optimizer; `workers_asked` and `gpu_asked`;
            `kept`, its checkpoints; `failures`, how often it may fail; `read`, whether the script reads
            `result.metrics`; `search`, what came of a Tuner.
    """
    versions = changes.pop("versions", VERSIONS)
    has_checkpoint = changes.pop("checkpoint", True)
    has_metrics = changes.pop("metrics", True)
    kept, failures = changes.pop("kept", 2), changes.pop("failures", 0)
    read, search, held = changes.pop("read", True), changes.pop("search", None), changes.pop("held", None)
    prefix, training = changes.pop("prefix", "model."), changes.pop("training", {})
    scaling = [{"workers": changes.pop("workers_asked", WORKERS), "use_gpu": changes.pop("gpu_asked", False)}]
    ranks = {rank: [attempt(rank, versions, **deepcopy(changes))] for rank in range(WORKERS)}
    weights = {name: held or digest for name, digest in (ranks[0][0].final_weights or {}).items()}
    tensors = {f"model.{parameter}": [digest] for parameter, digest in weights.items()}
    stored = {f"{prefix}{name}": [[2], "float32", digest, f"model.{name}"] for name, digest in weights.items()}
    checkpoint = {"files": [], "tensors": tensors, "stored": stored, "training": training, "unreadable": {}}
    checkpoint["state"] = {"step": STEPS, "epoch": 2.0}
    metrics = {"loss": 0.5, "eval_loss": changes.get("eval_loss", 0.75), "train_runtime": 3.0 if name == "B" else 4.0}
    result = {
        "metrics": metrics if has_metrics else {},
        "error": None,
        "checkpoint": checkpoint if has_checkpoint else None,
    }
    arm = Arm(name[0], Path("train.py"))
    pins = tuple(pin.name for pin in PINS)
    of_run = {"max_failures": failures, "num_to_keep": None, "checkpoint_score_order": "max"}
    searches = [search] if search else []
    trace = Trace(Path("nowhere"), ranks, [result], scaling, [{"max_failures": 9}, of_run], searches, read)
    return Run(name, arm, trace, 1.0, Path("log.txt"), pins=pins, kept=kept)


def attempt(
    rank: int,
    versions: dict[str, str],
    *,
    steps: int = STEPS,
    batch: int = BATCH,
    order: tuple[int, ...] = tuple(range(ROWS)),
    padding: int = 8,
    scale: float = 1.0,
    norm_scale: float = 1.0,
    rates: tuple[float, ...] | None = None,
    evaluated: int = 10,
    counted: int = 10,
    eval_loss: float = 0.75,
    reported: tuple[int, ...] = (4, 8),
    score: float = 1.0,
    stored: bool = True,
    initial: str = "w0",
    final: str = "w9",
    final_of_rank: bool = False,
    optimizer: str = "AdamW",
    attention: str = "eager",
    device: str = "cpu",
    precision: str = "no",
    cpu_asked: bool | None = True,
    dtype_asked: str = "default",
    trainer: dict[str, Any] | None = None,
    given: dict[str, Any] | None = None,
    defaults: dict[str, Any] | None = None,
    divides_loss: bool = True,
    accelerator: dict[str, Any] | None = None,
    gathered: int | None = None,
    references: str = "r",
    clipped: float | None = None,
    seed_asked: int = 42,
    prepare_seed: int | None = None,
    callbacks: tuple[str, ...] = (),
    files_of_rank: bool = False,
    held_by_step: int = 2,
    of_training: bool = False,
    never_evaluates: bool = False,
    goes_on: bool = False,
    norms: tuple[float, ...] | None = None,
    dead: bool = False,
    begin: int = 0,
) -> Attempt:
    """One worker's attempt; each argument is one thing in which jobs can differ."""
    start = {"world_size": WORKERS, "backend": "gloo", "versions": versions}
    model = {
        "model": "Bert",
        "dtypes": ["float32"],
        "trainable": 100,
        "device": device,
        "precision": precision,
        "attention": attention,
        "weights": {"a": initial, "b": initial},
        "asked": {"attention": "sdpa", "dtype": dtype_asked, "seed": seed_asked},
    }
    optimized = {"optimizer": optimizer, "groups": [{"lr": 1e-3, "eps": 1e-8}], "goes_on": goes_on}
    made = Attempt(0.0, 100 + rank, start, model, optimized, prepare_seed=prepare_seed)
    all_rates = rates or tuple(1e-3 * (1 - step / STEPS) for step in range(steps))
    for number in range(begin, steps):
        first = (number * WORKERS + rank) * batch
        rows = [f"row{order[index % len(order)]}" for index in range(first, first + batch)]
        digest = "".join(rows) + f"/{padding}"
        tensors = {"input_ids": ((batch, padding), "int64", digest), "labels": ((batch,), "int64", "".join(rows))}
        loss = 0.0 if dead else scale * (2.0 - 0.1 * number)
        norm = 0.0 if dead else norms[number] if norms else norm_scale * 1.5
        seen = Batch(tensors, tuple(rows), loss)
        batches = (seen, seen) if never_evaluates else (seen,)
        bounds = () if clipped is None else (clipped,)
        rates = (all_rates[number],)
        made.steps.append(Step(number - begin + 1, number + 1, (loss,), norm, rates, batches, 0.5 * number, bounds))
    for step in (4, 8):
        for row in range(rank, 0 if never_evaluates else evaluated, WORKERS):
            made.evaluation_batches.append((step, Batch({}, (f"{'row' if of_training else 'eval'}{row}",), 0.7)))
        if gathered is None:
            made.evaluations.append({"step": step, "rows": counted, "metrics": {"eval_loss": eval_loss}})
        else:
            entered = {"step": step, "metric": "glue", "rows": gathered, "values": ["p", references]}
            made.metric_rows.append(entered)
    made.reports = [
        {
            "step": step,
            "metrics": {"eval_loss": eval_loss, "score": score * step},
            "checkpoint": stored,
            "held": [held_by_step, 2] if rank == 0 else None,
            "files": {"model.pt": f"{step} of {rank if files_of_rank else 'all'}"},
        }
        for step in reported
    ]
    ending = f"{final}-of-rank-{rank}" if final_of_rank else final
    made.accelerators = [{"cpu": cpu_asked, "arguments": {"mixed_precision": "no", **(accelerator or {})}}]
    if trainer is not None:
        arguments = {"gradient_accumulation_steps": 1, "use_cpu": cpu_asked, "output_dir": f"of rank {rank}", **trainer}
        made.trainer = {"arguments": arguments, "cpu": arguments["use_cpu"], "divides_loss": divides_loss}
        made.trainer |= {"given": given or {}, "defaults": defaults or {}, "callbacks": callbacks}
    made.memory = 2**20
    made.final_weights = {"a": initial if dead else ending, "b": initial if dead else ending}
    return made


def trial(
    rate: float, *, reports: int = 3, loss: float = 0.5, stored: str | None = "w9", **more: Any
) -> dict[str, Any]:
    """What a trial of a Tuner ended with."""
    metrics = {"loss": loss, "training_iteration": reports, "pid": id(more)}
    checkpoint = {"stored": {"a": [[2], "float32", stored, "a"]}} if stored else None
    return {"settings": {"lr": rate, **more}, "metrics": metrics, "error": None, "checkpoint": checkpoint}


def killed(name: str, resumed_behind: int, **changes: Any) -> Run:
    """A run whose workers were killed, and which went on behind a step of the undisturbed one."""
    run = made_up(name, begin=resumed_behind, **changes)
    first = made_up(name, steps=6, reported=(4,))
    ranks = {rank: [first.trace.ranks[rank][0], attempts[0]] for rank, attempts in run.trace.ranks.items()}
    return replace(run, trace=replace(run.trace, ranks=ranks))
