"""What the scripts ask for themselves, where a pin or an override answers in their place; part of the gate "contract".

A pin or an override is the same in both arms, and would hide an argument that only one of them has lost. What
`raymigrate_recorder.asked` saw each script ask for is compared here, whether or not anything of it came into force.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from raymigrate.runtime.verify.pairs import Pair, check, not_applicable
from raymigrate.runtime.verify.pins import PINS
from raymigrate.runtime.verify.results import Cause, Check, Status
from raymigrate.runtime.verify.trace import Attempt, Trace

# Arguments of a Trainer that a conversion sets, or that say only where files go and what is shown.
ELSEWHERE = {
    "output_dir", "logging_dir", "run_name", "report_to", "disable_tqdm", "log_level", "local_rank",
    "use_cpu", "no_cuda",  # see `_device`
    "dataloader_pin_memory",  # off where the Trainer is told to use the CPU; says only how batches reach a GPU
    "average_tokens_across_devices",  # the stand-in sets it in B, and in C it is in force
    "max_steps",  # of a dataset without a length; the steps themselves are counted
}  # fmt: skip

# Check -> what its failure is called, and what to do.
CAUSES = {
    "workers and GPUs asked for": (
        "other workers are asked for",
        "give ScalingConfig the num_workers and use_gpu of the original; --workers and --device hide them in a run",
    ),
    "device asked for": (
        "the device is not that of the workers",
        "give Accelerator(cpu=True) or TrainingArguments(use_cpu=True) to workers without GPUs, and to no others",
    ),
    "arguments of the Trainer": (
        "other arguments of the Trainer",
        "give TrainingArguments what the original gave; a pin or an override may hide the difference in a run",
    ),
    "arguments of the Accelerator": (
        "other arguments of the Accelerator",
        "give the Accelerator what accelerate_config= or the original's Accelerator said",
    ),
    "attention, dtype and seed asked for": (
        "the model is loaded in another way",
        "load the model with the original's arguments, after the same seed",
    ),
}


def checks(pair: Pair) -> tuple[Check, ...]:
    """Compares what was asked for."""
    if pair.drift:
        reason = "other versions of the libraries have other arguments and defaults"
        return (not_applicable("what the scripts ask for", reason),)
    return (_of_ray(pair), _device(pair), _trainer(pair), _accelerators(pair), _loading(pair))


def cause(pair: Pair) -> Cause | None:
    """Names the first thing that only one script asks for."""
    failed = next((found for found in checks(pair) if found.status is Status.FAIL), None)
    if failed is None:
        return None
    name, remedy = CAUSES[failed.name]
    return Cause(name, failed.figures, remedy)


def hidden(pair: Pair) -> tuple[str, ...]:
    """The pins whose effect on a pair is not known.

    Where both arms have the same libraries, what they ask for is compared. Where they do not, their defaults differ,
    and the pins take these differences away.
    """
    both = set(pair.left.pins) & set(pair.right.pins)
    return tuple(pin.name for pin in PINS if pair.drift and pin.of_generations and pin.name in both)


def _of_ray(pair: Pair) -> Check:
    """Workers and GPUs, which `--workers` and `--device` set in both."""
    name = "workers and GPUs asked for"
    left, right = map(_scaling, pair.traces)
    if left is None or right is None:
        return not_applicable(name, "a script names them to Ray in no ScalingConfig")
    figures = [f"{workers or 1} workers {'with' if gpu else 'without'} GPUs" for workers, gpu in (left, right)]
    return check(name, left == right, figures[0] if left == right else " and ".join(figures))


def _scaling(trace: Trace) -> tuple[int | None, bool] | None:
    """Number of workers in the first ScalingConfig (later ones may copy one that is overridden), and whether with GPUs.

    None if the script makes no ScalingConfig.
    """
    if not trace.scaling:
        return None
    return trace.scaling[0]["workers"], any(asked["use_gpu"] for asked in trace.scaling)


def _device(pair: Pair) -> Check:
    """What the workers have decides: the old trainers told accelerate to use the CPU where they have no GPU."""
    name = "device asked for"
    wanted = _scaling(pair.right.trace)
    if wanted is None or pair.right.arm.letter != "C":
        return not_applicable(name, f"Ray and accelerate find it by themselves in {pair.right.name}")
    workers, gpu = wanted
    asked = dict(_devices(pair.right.trace.last.values()))
    if not asked:
        return not_applicable(name, f"{pair.right.name} makes no Accelerator and no Trainer")
    # A single worker without a GPU has nobody to train with, and nothing but the CPU.
    wrong = [what for what, cpu in asked.items() if cpu == gpu and (gpu or workers != 1)]
    has = "GPUs" if gpu else "no GPUs"
    if not wrong:
        return check(name, True, f"the workers have {has}, and {' and '.join(asked)} of {pair.right.name} follow")
    asks = "asks for the CPU" if gpu else "does not ask for the CPU"
    return check(name, False, f"the workers have {has}, and {' and '.join(wrong)} of {pair.right.name} {asks}")


def _devices(attempts: Iterable[Attempt]) -> Iterable[tuple[str, bool]]:
    for attempt in attempts:
        if attempt.trainer:
            yield "TrainingArguments", attempt.trainer["cpu"]
            return  # the Trainer's own Accelerator follows it
        for asked in attempt.accelerators:
            if asked["cpu"] is not None:
                yield "Accelerator", asked["cpu"]


def _trainer(pair: Pair) -> Check:
    name = "arguments of the Trainer"
    left, right = (trace.first_rank.trainer for trace in pair.traces)
    if not left or not right:
        return not_applicable(name, "no Hugging Face Trainer trains in both")
    a, b = left["arguments"], right["arguments"]
    shared = (a.keys() & b.keys()) - ELSEWHERE
    apart = [f"{key} is {a[key]} and {b[key]}" for key in sorted(shared) if a[key] != b[key]]
    if a.get("gradient_accumulation_steps", 1) > 1 and left["divides_loss"] != right["divides_loss"]:
        divides = [
            run.name for run, asked in zip((pair.left, pair.right), (left, right), strict=True) if asked["divides_loss"]
        ]
        apart.append(f"only {divides[0]} divides the loss by gradient_accumulation_steps")
    return check(name, not apart, "; ".join(apart) or f"{len(shared)} are the same")


def _accelerators(pair: Pair) -> Check:
    name = "arguments of the Accelerator"
    left, right = (trace.first_rank.accelerators for trace in pair.traces)
    if not left:
        return not_applicable(name, f"{pair.left.name} makes none")
    if len(left) != len(right):
        return check(name, False, f"{len(left)} and {len(right)} are made")
    apart = [
        f"{key} is {value} and {b['arguments'].get(key)}"
        for a, b in zip(left, right, strict=True)
        for key, value in a["arguments"].items()
        if value != b["arguments"].get(key)
    ]
    return check(name, not apart, "; ".join(dict.fromkeys(apart)) or "the same")


def _loading(pair: Pair) -> Check:
    """Attention and dtype that the loading of the model asks for, and the seed in force when training begins."""
    name = "attention, dtype and seed asked for"
    left, right = (trace.first_rank.model.get("asked") for trace in pair.traces)
    if not left or not right:
        return not_applicable(name, "no model was seen in both")
    apart = [f"{key} is {left[key]} and {right[key]}" for key in left if left[key] != right.get(key)]
    figures = ", ".join(f"{key} {_told(value)}" for key, value in left.items() if value is not None)
    return check(name, not apart, "; ".join(apart) or figures)


def _told(value: Any) -> str:
    return "left to the library" if value == "default" else str(value)
