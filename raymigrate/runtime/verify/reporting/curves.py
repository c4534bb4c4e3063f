"""Series of two arms, side by side: what is drawn, and the figures that stand beside a drawing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeGuard

from raymigrate.base.words import listed
from raymigrate.runtime.verify.results import ArmRun, Comparison, Verification

Values = tuple[float | None, ...]

ORDER = ("loss", "gradient norm", "learning rate")
MOST_POINTS = 600
MOST_LISTED = 5
# Coordinates near the largest float overflow when axes add a margin.
LARGEST_DRAWN = 1e300


@dataclass(frozen=True)
class Curve:
    """One quantity of one rank, or of several ranks in which it is the same, in both arms of a comparison.

    Args:
        name: "loss", "gradient norm", "learning rate".
        ranks: The ranks that it holds for.
        left, right: A value for each step; empty if the arm did not measure it.
        letters: Letters of the left and the right arm.
    """

    name: str
    ranks: tuple[int, ...]
    left: Values
    right: Values
    letters: tuple[str, str]

    @property
    def title(self) -> str:
        """`loss, rank 0`; `learning rate, ranks 0 to 3 (the same on each)`."""
        if len(self.ranks) == 1:
            return f"{self.name}, rank {self.ranks[0]}"
        first, last = self.ranks[0], self.ranks[-1]
        whole = len(self.ranks) > 2 and self.ranks == tuple(range(first, last + 1))
        ranks = f"{first} to {last}" if whole else listed(str(rank) for rank in self.ranks)
        return f"{self.name}, ranks {ranks} (the same on each)"

    @cached_property
    def differences(self) -> Values:
        """Right minus left for each step; None where one of them was not measured or is not finite."""
        return tuple(
            right - left if left is not None and right is not None and math.isfinite(right - left) else None
            for left, right in zip(self.left, self.right, strict=False)
        )

    @property
    def longest(self) -> int:
        """Steps of the arm that has more."""
        return max(len(self.left), len(self.right))

    @property
    def drawable(self) -> bool:
        """Whether an arm has a value that can be drawn."""
        return any(map(_is_drawable, (*self.left, *self.right)))

    def figures(self) -> list[str]:
        """Sentences on what the curves show, from all their steps."""
        found = [self._agreement()]
        if self.left and self.right and len(self.left) != len(self.right):
            found.append(f"{self.letters[0]} has {steps(len(self.left))}, {self.letters[1]} {len(self.right):,}.")
        for letter, values in zip(self.letters, (self.left, self.right), strict=True):
            found += _gaps(letter, values)
        if self.longest > MOST_POINTS:
            found.append(
                f"Drawn from at most {MOST_POINTS:,} of {self.longest:,} steps, with their peaks; "
                "these figures are of all."
            )
        return found

    def _agreement(self) -> str:
        for letter, values in zip(self.letters, (self.left, self.right), strict=True):
            if not values:
                return f"{letter} did not measure it."
        pairs = zip(self.left, self.right, strict=False)
        both = [(left, right) for left, right in pairs if left is not None and right is not None]
        if not both:
            return "No step was measured in both arms."
        same = sum(left == right or (math.isnan(left) and math.isnan(right)) for left, right in both)
        if same == len(both):
            return f"Equal at {'the only step' if same == 1 else f'all {same:,} steps'}."
        text = f"Equal at {same:,} of {steps(len(both))}"
        gaps = [(abs(gap), step) for step, gap in enumerate(self.differences, 1) if gap]
        if not gaps:  # what differs is not finite, and said below
            return f"{text}."
        largest, step = max(gaps, key=lambda pair: (pair[0], -pair[1]))
        size = max(abs(self.left[step - 1] or 0.0), abs(self.right[step - 1] or 0.0))
        return f"{text}; the largest difference is {largest:.2g} at step {step:,} ({largest / size:.1e} of its size)."


def curves_of(verification: Verification, comparison: Comparison) -> list[Curve]:
    """The curves of a comparison, by quantity and rank; ranks on which both arms are the same share one."""
    left, right = (_series(verification, letter) for letter in (comparison.left, comparison.right))
    keys = sorted(left.keys() | right.keys(), key=lambda key: (_place(key[0]), *key))
    groups: dict[tuple[str, str, str], list[int]] = {}
    for name, rank in keys:
        # As text, because NaN is not equal to itself.
        values = (name, repr(left.get((name, rank), ())), repr(right.get((name, rank), ())))
        groups.setdefault(values, []).append(rank)
    letters = (comparison.left, comparison.right)
    return [
        Curve(name, tuple(ranks), left.get((name, ranks[0]), ()), right.get((name, ranks[0]), ()), letters)
        for (name, _, _), ranks in groups.items()
    ]


def points(values: Sequence[float | None]) -> tuple[list[int], list[float]]:
    """Steps and values to draw: NaN for gaps, and of a long series the least and the greatest of each stretch."""
    drawn = [value if _is_drawable(value) else math.nan for value in values]
    if len(drawn) <= MOST_POINTS:
        return list(range(1, len(drawn) + 1)), drawn
    stretch = math.ceil(len(drawn) / (MOST_POINTS // 2))
    chosen: set[int] = set()
    for start in range(0, len(drawn), stretch):
        known = [index for index in range(start, min(start + stretch, len(drawn))) if not math.isnan(drawn[index])]
        if known:
            chosen |= {min(known, key=drawn.__getitem__), max(known, key=drawn.__getitem__)}
        else:
            chosen.add(start)
    return [index + 1 for index in sorted(chosen)], [drawn[index] for index in sorted(chosen)]


def steps(count: int) -> str:
    """`1 step`, `12 steps`."""
    return f"{count:,} step{'' if count == 1 else 's'}"


def _is_drawable(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value) and abs(value) < LARGEST_DRAWN


def _series(verification: Verification, letter: str) -> dict[tuple[str, int], Values]:
    arm: ArmRun | None = next((arm for arm in verification.arms if arm.letter == letter), None)
    return {(series.name, series.rank): series.values for series in arm.series} if arm else {}


def _place(name: str) -> int:
    return ORDER.index(name) if name in ORDER else len(ORDER)


def _gaps(letter: str, values: Values) -> list[str]:
    found = []
    broken = [step for step, value in enumerate(values, 1) if value is not None and not math.isfinite(value)]
    if broken:
        some = [f"{step:,}" for step in broken[:MOST_LISTED]]
        rest = [f"{len(broken) - len(some):,} more"] if len(broken) > len(some) else []
        found.append(f"{letter} is not finite at step{'' if len(broken) == 1 else 's'} {listed([*some, *rest])}.")
    missing = sum(value is None for value in values)
    if missing:
        found.append(f"{letter} was not measured at {steps(missing)}.")
    return found
