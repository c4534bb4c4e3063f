"""Two arms to be compared, and how much they may differ."""

from __future__ import annotations

from dataclasses import dataclass, field

from raymigrate.runtime.verify.arms import Run
from raymigrate.runtime.verify.results import Check, Status
from raymigrate.runtime.verify.trace import Attempt, Trace

# What equality of two arms would show.
CLAIMS = {
    "PC": "the conversion of a plain script",
    "PQ": "equal training",
    "AO": "the conversion on the old libraries",
    "BC": "the conversion on the current libraries",
    "OC": "drift of transformers, accelerate and datasets",
    "AB": "drift of Ray and the libraries without the conversion",
    "AC": "the whole migration",
}


@dataclass(frozen=True)
class Tolerance:
    """How far two runs may be apart and still count as the same.

    Args:
        loss: Relative difference of losses.
        gradient_norm: Relative difference of gradient norms.
        weights: Absolute difference of final weights.
        metrics: Absolute difference of metrics.
        reason: Where the figures come from; empty if everything must be bit-equal.
    """

    loss: float = 0.0
    gradient_norm: float = 0.0
    weights: float = 0.0
    metrics: float = 0.0
    reason: str = ""


EXACT = Tolerance()
# Measured over twelve steps of BERT and eight of GPT-2 on CPU, Ray 2.7.2 with transformers 4.36.2 against Ray 2.60 with
# 5.23: sdpa against eager attention moved the weights by 2.5e-7, a loss summed in another order the logged loss by
# 2.4e-7. The bounds leave room for more steps.
DRIFT = Tolerance(1e-5, 1e-4, 1e-5, 1e-4, "float32 sums in another order in other versions of the libraries")
GPU_FLOAT32 = Tolerance(1e-5, 1e-4, 1e-5, 1e-4, "float32 on a GPU, where kernels may sum in any order")
HALF = Tolerance(1e-2, 5e-2, 1e-2, 1e-2, "half precision")
TF32 = Tolerance(1e-3, 1e-2, 1e-3, 1e-3, "TF32 on a GPU: products of 10-bit mantissas")


@dataclass(frozen=True)
class Pair:
    """A reference and the run that is judged by it.

    Args:
        left: The reference.
        right: The judged one.
        tolerance: How far they may be apart.
        drift: Whether the two ran on different libraries, so that a difference within the tolerance has that cause.
        repeats: Repetitions, by the name of the run that they repeat.
        killed: The runs of both in which a worker was killed; None if there were none. The reference has none where
            it trains without Ray, which alone starts anew.
    """

    left: Run
    right: Run
    tolerance: Tolerance
    drift: bool = False
    repeats: dict[str, list[Run]] = field(default_factory=dict)
    killed: tuple[Run | None, Run] | None = None

    @property
    def traces(self) -> tuple[Trace, Trace]:
        """Both traces, the reference first."""
        return self.left.trace, self.right.trace

    @property
    def ranks(self) -> list[int]:
        """Ranks that both have."""
        return sorted(set(self.left.trace.last) & set(self.right.trace.last))

    @property
    def as_they_are(self) -> bool:
        """Whether they are two scripts as they are, of which neither was made of the other."""
        return self.right.arm.letter == "Q"

    @property
    def one_fit(self) -> bool:
        """Whether both call fit() once, on the same version of Ray: what that run is asked and keeps is comparable."""
        once = all(len(trace.results) == 1 for trace in self.traces)
        return once and len({trace.versions.get("ray") for trace in self.traces}) == 1

    @property
    def same_weights(self) -> bool:
        """Whether both end with the same weights on every rank, bit for bit."""
        return all(a.final_weights == b.final_weights for a, b in map(self.attempts, self.ranks))

    def attempts(self, rank: int) -> tuple[Attempt, Attempt]:
        """The last attempts of a rank in both."""
        return self.left.trace.last[rank], self.right.trace.last[rank]


def tolerance_of(left: Run, right: Run) -> tuple[Tolerance, bool]:
    """How far two runs may be apart, and whether they ran on different libraries.

    docs/verify.md#gates has the figures, by device and dtype.
    """
    versions = [run.trace.versions for run in (left, right)]
    drift = any(versions[0].get(name) != versions[1].get(name) for name in ("torch", "transformers", "accelerate"))
    model = left.trace.first_rank.model
    on_gpu = model.get("device", "cpu") != "cpu"
    if not on_gpu and not drift:
        return EXACT, drift
    precision = model.get("precision", "no")
    if precision in ("bf16", "fp16") or {"bfloat16", "float16"} & set(model.get("dtypes", ())):
        return HALF, drift
    if precision == "tf32":
        return TF32, drift
    return (GPU_FLOAT32 if on_gpu else DRIFT), drift


def check(name: str, ok: bool, figures: str) -> Check:
    """A check that passes or fails."""
    return Check(name, Status.PASS if ok else Status.FAIL, figures)


def not_applicable(name: str, reason: str) -> Check:
    """A check that cannot be made."""
    return Check(name, Status.NOT_APPLICABLE, reason)


def bounded(name: str, difference: float, bound: float, equal: str, unequal: str, *, what: str = "") -> Check:
    """A check on a largest difference: 0 passes, more is explained up to the bound and fails beyond.

    Args:
        name: Of the check.
        difference: The largest that was found.
        bound: The largest that is allowed.
        equal: Figures if there is none.
        unequal: Figures if there is one.
        what: Where the bound comes from.
    """
    if difference == 0:
        return Check(name, Status.PASS, equal)
    if difference <= bound:
        return Check(name, Status.EXPLAINED, f"{unequal}; within {bound:g}: {what}")
    return Check(name, Status.FAIL, unequal + (f"; more than {bound:g}" if bound else ""))
