"""Gate "start": both jobs begin with the same weights."""

from __future__ import annotations

from raymigrate.runtime.verify.pairs import Pair, check
from raymigrate.runtime.verify.results import Check, Gate


def gate(pair: Pair) -> Gate:
    """Compares the weights before the first step, on every worker."""
    return Gate("start", "Do both jobs begin with the same weights?", (_weights(pair),))


def _weights(pair: Pair) -> Check:
    for rank in pair.ranks:
        left, right = (attempt.initial_weights for attempt in pair.attempts(rank))
        apart = [name for name in left if name in right and left[name] != right[name]]
        alone = sorted(left.keys() ^ right.keys())
        if apart or alone:
            what = f"{len(apart)} of {len(left)} tensors differ on rank {rank}" if apart else f"on rank {rank}"
            names = f", first {apart[0]}" if apart else ""
            missing = f"; only in one of them: {', '.join(alone[:3])}" if alone else ""
            return check("initial weights", False, f"{what}{names}{missing}")
    count = len(pair.attempts(pair.ranks[0])[0].initial_weights)
    return check("initial weights", count > 0, f"{count} tensors bit-equal on {len(pair.ranks)} workers")
