"""What the scripts ask for themselves, where a pin or an override answers in their place; part of the gate "contract".

A pin or an override is the same in both arms, and would hide an argument that only one of them has lost. What
`raymigrate_recorder.asked` saw each script ask for is compared here, whether or not anything of it came into force.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from raymigrate.runtime.verify.pairs import Pair, check, not_applicable
from raymigrate.runtime.verify.pins import PINS, SEED
from raymigrate.runtime.verify.results import Cause, Check, Status
from raymigrate.runtime.verify.trace import Attempt, Trace

# Arguments of a Trainer that say only where files go and what is shown.
SHOWN = {
    *("output_dir", "logging_dir", "run_name", "report_to", "disable_tqdm", "log_level", "local_rank"),
    "trackio_space_id",
}
# Those that a conversion sets.
CONVERTED = {
    "use_cpu", "no_cuda",  # see `_device`
    "dataloader_pin_memory",  # off where the Trainer is told to use the CPU; says only how batches reach a GPU
    "average_tokens_across_devices",  # the stand-in sets it in B, and in C it is in force
    "max_steps",  # of a dataset without a length; the steps themselves are counted
}  # fmt: skip

# What the conversion of a plain script sets so that rows come in their order after a failure (RM8xx).
OF_ORDER = {"use_seedable_sampler"}
OF_A_RUN = ("max_failures", "num_to_keep", "checkpoint_score_attribute", "checkpoint_score_order")

LEFT_OUT = "(left to the library)"  # no argument of a script has this value

# Check -> what its failure is called, and what to do.
CAUSES = {
    "workers and GPUs asked for": (
        "other workers are asked for",
        "give ScalingConfig the num_workers and use_gpu of the original; --workers and --device hide them in a run",
    ),
    "failures and checkpoints asked for": (
        "other failures or checkpoints are asked for",
        "give RunConfig the FailureConfig and CheckpointConfig of the original; --kill-worker lets every run fail once",
    ),
    "device asked for": (
        "the device is not that of the workers",
        "give Accelerator(cpu=True) or TrainingArguments(use_cpu=True) to workers without GPUs, and to no others",
    ),
    "arguments of the Trainer": (
        "other arguments of the Trainer",
        "give TrainingArguments what the original gave; a pin or an override may hide the difference in a run",
    ),
    "callbacks of the Trainer": (
        "a callback is missing",
        "give the Trainer the callbacks of the original, also those that have nothing to do in a short run",
    ),
    "arguments of the Accelerator": (
        "other arguments of the Accelerator",
        "give the Accelerator what accelerate_config= or the original's Accelerator said",
    ),
    "attention and dtype asked for": (
        "the model is loaded in another way",
        "load the model with the original's arguments",
    ),
    "seeds asked for": (
        "another seed",
        "set the seed of the original, and in its place: before prepare(), which draws the order of rows",
    ),
}


def checks(pair: Pair) -> tuple[Check, ...]:
    """Compares what was asked for."""
    if pair.drift and not pair.as_they_are:
        reason = "other versions of the libraries have other arguments and defaults"
        return (not_applicable("what the scripts ask for", reason),)
    of_all = (_of_ray, _of_a_run, _device, _trainer, _callbacks, _accelerators, _loading, _seeds)
    return tuple(compared(pair) for compared in of_all)


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
    and the pins take these differences away. Two scripts as they are may draw other random numbers.
    """
    both = set(pair.left.pins) & set(pair.right.pins)
    return tuple(
        pin.name
        for pin in PINS
        if pin.name in both and ((pair.drift and pin.of_generations) or (pair.as_they_are and pin.of_draws))
    )


def _of_ray(pair: Pair) -> Check:
    """Workers and GPUs, which `--workers` and `--device` set in both."""
    name = "workers and GPUs asked for"
    if any(asked.get("searched") for asked in pair.left.trace.scaling):
        return not_applicable(name, "a Tuner finds them")
    left, right = map(_scaling, pair.traces)
    if left is None or right is None:
        return not_applicable(name, "a script names them to Ray in no ScalingConfig")
    figures = [f"{workers or 1} workers {'with' if gpu else 'without'} GPUs" for workers, gpu in (left, right)]
    return check(name, left == right, figures[0] if left == right else " and ".join(figures))


def _scaling(trace: Trace) -> tuple[int | None, bool] | None:
    """Number of workers in the first ScalingConfig, and whether with GPUs; None if the script makes none.

    Only the first tells what the script asks for: the stand-in copies it, when `--workers` and `--device` have
    overridden it already.
    """
    if not trace.scaling:
        return None
    return trace.scaling[0]["workers"], trace.scaling[0]["use_gpu"]


def _of_a_run(pair: Pair) -> Check:
    """How often a run may fail and what it keeps: a run ends alike with and without, if nobody dies.

    The last RunConfig is the one in force, as the stand-in makes a new one of an old one.
    """
    name = "failures and checkpoints asked for"
    if not pair.one_fit or not all(trace.asked_of_runs for trace in pair.traces):
        return not_applicable(name, "compared where both call fit() once, on the same Ray")
    left, right = ({key: trace.asked_of_runs[-1].get(key) for key in OF_A_RUN} for trace in pair.traces)
    apart = [f"{key} is {left[key]} and {right[key]}" for key in left if left[key] != right[key]]
    figures = ", ".join(f"{key} {value}" for key, value in left.items() if value is not None)
    return check(name, not apart, "; ".join(apart) or figures)


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
    shared = _compared(pair)
    changed = changed_defaults(pair)
    apart = [f"{key} is {a[key]} and {b[key]}" for key in shared if _given_otherwise(pair, key)]
    if not apart and changed:
        told = [f"{key} is {a} and {b}" for key, (a, b) in changed.items()]
        return Check(name, Status.EXPLAINED, f"by default {'; '.join(told)}")
    if not pair.drift and a.get("gradient_accumulation_steps", 1) > 1 and left["divides_loss"] != right["divides_loss"]:
        divides = [
            run.name for run, asked in zip((pair.left, pair.right), (left, right), strict=True) if asked["divides_loss"]
        ]
        apart.append(f"only {divides[0]} divides the loss by gradient_accumulation_steps")
    return check(name, not apart, "; ".join(apart) or f"{len(shared)} are the same")


def _callbacks(pair: Pair) -> Check:
    """The user's own callbacks, and those of transformers that may end a training; a conversion adds one of its own."""
    name = "callbacks of the Trainer"
    left, right = (Counter(trace.first_rank.trainer.get("callbacks", ())) for trace in pair.traces)
    if not left or not pair.right.trace.first_rank.trainer:
        return not_applicable(name, f"{pair.left.name} gives its Trainer none")
    lost = ", ".join((left - right).elements())
    return check(name, not lost, f"{pair.right.name} lacks {lost}" if lost else ", ".join(left.elements()))


def _compared(pair: Pair) -> list[str]:
    """The arguments of the Trainer that both have and that say how it trains."""
    a, b = (trace.first_rank.trainer.get("arguments", {}) for trace in pair.traces)
    return sorted((a.keys() & b.keys()) - (SHOWN if pair.as_they_are else SHOWN | CONVERTED))


def changed_defaults(pair: Pair) -> dict[str, tuple[Any, Any]]:
    """The Trainer's arguments of which neither script says anything, and whose default the libraries have changed.

    Returns:
        Argument -> its default in both, where the libraries are others.
    """
    left, right = (trace.first_rank.trainer for trace in pair.traces)
    found = {}
    for key in _compared(pair) if pair.drift else ():
        a, b = (asked.get("defaults", {}).get(key) for asked in (left, right))
        left_out = not any(key in asked.get("given", {}) for asked in (left, right))
        if left_out and a != b and not (_is_nothing(a) and _is_nothing(b)):
            found[key] = a, b
    return found


def _given_otherwise(pair: Pair, key: str) -> bool:
    """Whether the scripts give an argument of the Trainer different values."""
    left, right = (trace.first_rank.trainer for trace in pair.traces)
    a, b = left["arguments"][key], right["arguments"][key]
    if not pair.drift:
        return bool(a != b)
    # Of one and the same value, and of what is left out, each version of the library makes what it needs.
    given = [asked.get("given", {}).get(key, LEFT_OUT) for asked in (left, right)]
    return bool(given[0] != given[1] and a != b and not (_is_nothing(a) and _is_nothing(b)))


def _is_nothing(value: Any) -> bool:
    """Whether a value says that there is none, in whatever way a version of the library says so."""
    return not value or value == "no"


def _accelerators(pair: Pair) -> Check:
    name = "arguments of the Accelerator"
    left, right = (trace.first_rank.accelerators for trace in pair.traces)
    if pair.drift and any(trace.first_rank.trainer for trace in pair.traces):
        return not_applicable(name, "the Trainer makes it")
    if not left:
        return not_applicable(name, f"{pair.left.name} makes none")
    if len(left) != len(right):
        return check(name, False, f"{len(left)} and {len(right)} are made")
    apart: dict[str, None] = {}
    changed: dict[str, None] = {}
    for a, b in zip(left, right, strict=True):
        for key, value in a["arguments"].items():
            if value != b["arguments"].get(key) and not (key in OF_ORDER and pair.left.arm.letter == "P"):
                by_default = pair.drift and not {key, "dataloader_config"} & {*a.get("given", ()), *b.get("given", ())}
                (changed if by_default else apart)[f"{key} is {value} and {b['arguments'].get(key)}"] = None
    if changed and not apart:
        return Check(name, Status.EXPLAINED, f"left to the libraries: {'; '.join(changed)}")
    return check(name, not apart, "; ".join(apart) or "the same")


def _loading(pair: Pair) -> Check:
    """Attention and dtype that the loading of the model asks for."""
    name = "attention and dtype asked for"
    left, right = (trace.first_rank.model.get("asked") for trace in pair.traces)
    if not left or not right:
        return not_applicable(name, "no model was seen in both")
    asked = {key: value for key, value in left.items() if key != "seed"}
    apart = [f"{key} is {value} and {right.get(key)}" for key, value in asked.items() if value != right.get(key)]
    figures = ", ".join(f"{key} {_told(value)}" for key, value in asked.items() if value is not None)
    return check(name, not apart, "; ".join(apart) or figures or "left to the library")


def _seeds(pair: Pair) -> Check:
    """The seeds in force where something is drawn by them, which the pins "seed" and "data-order" hide."""
    name = "seeds asked for"
    left, right = (
        {
            "at the first prepare()": trace.first_rank.prepare_seed,
            "as training begins": trace.first_rank.model.get("asked", {}).get("seed"),
        }
        for trace in pair.traces
    )
    known = [place for place in left if left[place] is not None and right[place] is not None]
    if not known:
        return not_applicable(name, "no model was seen in both")
    apart = [place for place in known if left[place] != right[place]]
    told = [f"{_seed(left[place])} and {_seed(right[place])} {place}" for place in apart]
    return check(name, not apart, "; ".join(told) or ", ".join(f"{_seed(left[place])} {place}" for place in known))


def _seed(value: int | None) -> str:
    return "none" if value == SEED else str(value)


def _told(value: Any) -> str:
    return "left to the library" if value == "default" else str(value)
