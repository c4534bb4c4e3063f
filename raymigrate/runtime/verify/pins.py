"""The determinism pins, as the user sees them. How each works is in `raymigrate_recorder.pins`, by the same name.

What a pin answers in place of a script is recorded and compared as well (`gates/asked.py`), so that it hides nothing
that a conversion lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from raymigrate.runtime.verify.results import Setting

SEED = (
    86_028_157  # that of no script, so that one which has lost its own set_seed(42) does not begin with it all the same
)


@dataclass(frozen=True)
class Pin:
    """A cause of differences that is fixed in every arm.

    Args:
        name: For `--no-pin NAME`.
        value: What the recorder sets.
        reason: Why two equal jobs could differ without it.
        of_generations: Whether it stands for a change of the libraries, so that it is not needed where both arms have
            the same ones.
        of_draws: Whether it stands for random numbers that libraries and scripts draw at other places, so that it hides
            a difference between two scripts as they are.
    """

    name: str
    value: Any
    reason: str
    of_generations: bool = False
    of_draws: bool = False

    def setting(self) -> Setting:
        """For the report."""
        return Setting(self.name, str(self.value), self.reason)


PINS = (
    Pin("seed", SEED, "Python, numpy and torch are seeded on each worker when its process group is up"),
    Pin(
        "dropout",
        SEED,
        "torch is seeded before each training pass: libraries draw random numbers at other places",
        of_draws=True,
    ),
    Pin(
        "data-order",
        SEED,
        "the order of shuffled rows is a function of seed and epoch, not of the library's sampler",
        of_draws=True,
    ),
    Pin("preserve-order", True, "Ray Data hands blocks on in their order, not as they are done"),
    Pin("threads", 1, "sums over several threads come out in another order"),
    Pin(
        "attention",
        "eager",
        "the default is sdpa since transformers 4.36; both compute the same in another order",
        of_generations=True,
    ),
    Pin(
        "loss-mean",
        True,
        "the Trainer divides by its own count of labels since transformers 4.46, before by the mean's",
        of_generations=True,
    ),
    Pin(
        "optimizer",
        "adamw_torch",
        "the Trainer's default was Hugging Face's AdamW, then torch's, then torch's fused",
        of_generations=True,
    ),
    Pin(
        "dtype",
        "float32",
        "transformers 5 loads weights in the dtype of the checkpoint by default",
        of_generations=True,
    ),
    Pin("deterministic", True, "torch uses deterministic kernels where it has them"),
)
