"""Gate "end": both jobs end with the same weights, on every worker."""

from __future__ import annotations

import math

from raymigrate.runtime.verify.pairs import Pair, bounded, check
from raymigrate.runtime.verify.results import Check, Gate
from raymigrate.runtime.verify.trace import Trace


def gate(pair: Pair) -> Gate:
    """Compares final weights between the arms, and between the workers of each."""
    return Gate("end", "Do both jobs end with the same weights?", (_weights(pair), _workers(pair)))


def _weights(pair: Pair) -> Check:
    total = equal = 0
    apart: list[str] = []
    for rank in pair.ranks:
        left, right = (attempt.final_weights or {} for attempt in pair.attempts(rank))
        names = left.keys() | right.keys()
        total += len(names)
        unequal = sorted(name for name in names if left.get(name) != right.get(name))
        equal += len(names) - len(unequal)
        apart += unequal
    if not apart:
        workers = len(pair.ranks)
        return check("final weights", total > 0, f"{total // workers} tensors bit-equal on {workers} workers")
    difference, where = weight_difference(pair)
    figures = f"{equal} of {total} tensors bit-equal; largest difference {difference:.2g} in {where or apart[0]}"
    return bounded("final weights", difference, pair.tolerance.weights, "", figures, what=pair.tolerance.reason)


def weight_difference(pair: Pair) -> tuple[float, str]:
    """The largest absolute difference of rank 0's final weights, and the parameter; infinity if it is not known."""
    left, right = (trace.weights("final") for trace in pair.traces)
    if not left or left.keys() != right.keys():
        return math.inf, ""
    worst, where = 0.0, ""
    for name, tensor in left.items():
        if tensor.shape != right[name].shape:
            return math.inf, name
        difference = float((tensor.double() - right[name].double()).abs().max()) if tensor.numel() else 0.0
        if not difference <= worst:  # NaN counts as the largest
            worst, where = (math.inf if math.isnan(difference) else difference), name
    return (worst, where) if where else (math.inf, "another worker than rank 0")


def _workers(pair: Pair) -> Check:
    """Workers that train one model together end with the same weights; without DDP each has its own."""
    same = [workers_agree(trace) for trace in pair.traces]
    figures = {
        (True, True): "the workers of each job agree",
        (False, False): "in both jobs the workers' weights differ (sharded, or trained apart)",
        (True, False): f"the workers of {pair.left.name} agree, those of {pair.right.name} do not",
        (False, True): f"the workers of {pair.right.name} agree, those of {pair.left.name} do not",
    }
    return check("weights of the workers", same[0] == same[1], figures[same[0], same[1]])


def workers_agree(trace: Trace) -> bool:
    """Whether all workers ended with equal weights."""
    weights = [attempt.final_weights for attempt in trace.last.values()]
    return all(one == weights[0] for one in weights)
