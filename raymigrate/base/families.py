"""Families of rules: what a rule is about. Its code says it, so that nobody says it a second time, or forgets to.

A folder of `raymigrate/codemods/` holds a family or a part of one, and rules of others that its code meets on the way:
where the code is does not tell what a finding means for its file (tests/architecture/test_families.py).
"""

from enum import Enum
from functools import cache


class Family(Enum):
    """What rules are about, with the beginnings of their codes; the longest one that fits counts."""

    TRANSFORMERS_TRAINER = ("RM1",)
    ACCELERATE_TRAINER = ("RM2",)
    RAY_AIR = ("RM3",)
    TRAIN_AND_TUNE = ("RM4",)
    DATA = ("RM5",)
    RESULTS = ("RM6",)
    PREDICTORS = ("RM603",)
    GONE = ("RM69",)
    LIBRARIES = ("RM7",)
    PINS = ("RM73",)
    TO_RAY = ("RM80", "RM81", "RM82", "RM83", "RM84")
    TO_ACCELERATE = ("RM85", "RM86", "RM87", "RM88", "RM89")
    FILES = ("RM9",)


# Where a rule of theirs is met, the file trains with a trainer that Ray no longer has.
LEGACY_TRAINERS = frozenset({Family.TRANSFORMERS_TRAINER, Family.ACCELERATE_TRAINER})


@cache
def family_of(code: str) -> Family:
    """The family of a rule.

    Raises:
        ValueError: If no family has such codes.
    """
    fitting = [(beginning, family) for family in Family for beginning in family.value if code.startswith(beginning)]
    if not fitting:
        raise ValueError(f"no family of rules has the code {code}")
    return max(fitting, key=lambda found: len(found[0]))[1]
