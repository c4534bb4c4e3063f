"""Names the reason of a difference by its signature.

Each function of `training` and `results` looks at a pair for one signature, and returns a `Cause` or nothing. They are
asked in the order in which they stand there; several may answer. Where none does, `symptoms` say in what the course of
training first differs.
"""

from __future__ import annotations

from raymigrate.runtime.verify.diagnosis import results, symptoms, training
from raymigrate.runtime.verify.diagnosis.signatures import SIGNATURES, SYMPTOMS
from raymigrate.runtime.verify.pairs import Pair
from raymigrate.runtime.verify.results import Cause

__all__ = ["diagnose", "results", "symptoms", "training"]


def diagnose(pair: Pair) -> tuple[Cause, ...]:
    """The named reasons for what differs between two runs."""
    causes = tuple(cause for ask in SIGNATURES if (cause := ask(pair)) is not None)
    return causes or tuple(cause for ask in SYMPTOMS if (cause := ask(pair)) is not None)[:1]
