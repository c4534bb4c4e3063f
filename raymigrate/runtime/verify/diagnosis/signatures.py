"""The signatures by which reasons of differences are known."""

from __future__ import annotations

from collections.abc import Callable

from raymigrate.runtime.verify.pairs import Pair
from raymigrate.runtime.verify.results import Cause

Signature = Callable[[Pair], "Cause | None"]
SIGNATURES: list[Signature] = []
SYMPTOMS: list[Signature] = []


def signature(function: Signature) -> Signature:
    """Decorator: `diagnose` asks the function."""
    SIGNATURES.append(function)
    return function


def symptom(function: Signature) -> Signature:
    """Decorator: `diagnose` asks the function where no signature was found."""
    SYMPTOMS.append(function)
    return function
