"""The bytes without which a file is read no further: the first and cheapest gate."""

# Our own comments: one may refer to something that is gone.
COMMENTS = (b"raymigrate:", b"(raymigrate)")
# Every way to import ray holds one of these; files without any are never read further (see tests/test_gates.py).
NEEDLES = (b"import ray", b"from ray", b"ray.train", b"ray.air", *COMMENTS)
PINS = "RM731"  # the rule of pinned versions; its module needs more imports
# What plain scripts import: looked for only if the user asks for their conversion.
PLAIN_TO_RAY = (
    *(b"transformers", b"accelerate", b"from trl", b"import trl", b"import torch", b"from torch"),
    *(b"setfit", b"span_marker", b"optimum"),  # which make Trainers of transformers
)
PLAIN_TO_ACCELERATE = (b"import torch", b"from torch")


def needles(*, to_ray: bool = False, to_accelerate: bool = False, pins: bool = False) -> tuple[bytes, ...]:
    """What a file has to hold to be read any further.

    Args:
        to_ray: See `Options`.
        to_accelerate: See `Options`.
        pins: Whether the user asks for pinned versions alone: a converted script may have lost every word of Ray.
    """
    plain = PLAIN_TO_RAY if to_ray or pins else ()
    return (*NEEDLES, *plain, *(PLAIN_TO_ACCELERATE if to_accelerate else ()))
