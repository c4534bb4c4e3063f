"""The HTML report of `raymigrate verify`, and the curves in it."""

import dataclasses
import math
import re
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from raymigrate.runtime.verify.reporting.curves import MOST_POINTS, Curve, curves_of, points
from raymigrate.runtime.verify.reporting.html import html_text
from raymigrate.runtime.verify.results import (
    Series,
)
from tests.runtime.verify.verifications import FAILING, PASSING, THREE, Page, arm, verification

# HTML


def test_html_loads_nothing() -> None:
    text = html_text(THREE)
    page = Page(text)
    for name, value in page.attributes:
        if name in ("src", "href", "xlink:href"):
            assert (value or "").startswith(("#", "data:,"))
    assert not re.findall(r"@import|url\((?!#)", text)
    assert page.tags["script"] == 0
    assert page.tags["svg"] == 3


def test_html_ids_are_unique_and_found() -> None:
    page = Page(html_text(THREE))
    ids = Counter(value for name, value in page.attributes if name == "id")
    assert max(ids.values()) == 1
    assert {value for name, value in page.attributes if name.endswith("href") and value} <= {
        "data:,",
        *(f"#{each}" for each in ids),
    }


def test_html_is_the_same_each_time() -> None:
    assert html_text(FAILING) == html_text(FAILING)


def test_html_takes_its_colours_from_the_page() -> None:
    text = html_text(PASSING)
    assert "var(--left)" in text
    assert "#0102" not in text


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "values",
    [
        (),
        (None,),
        (math.nan,),
        (1.0,),
        (1e308, -1e308),
        (5e-324, 0.0),
        (None, 1.0, math.inf),
        tuple(map(float, range(10_000))),
    ],
    ids=["none", "missing", "nan", "one step", "huge", "tiny", "mixed", "long"],
)
def test_html_draws_any_series(values: tuple[float | None, ...]) -> None:
    result = verification(*PASSING.comparisons, arms=(arm("B"), arm("C", values)))
    text = html_text(result)
    Page(text)
    assert len(text) < 250_000
    assert "loss, ranks 0 and 1 (the same on each)" in text


# Curves


def curve(left: tuple[float | None, ...], right: tuple[float | None, ...]) -> Curve:
    return Curve("loss", (0,), left, right, ("B", "C"))


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        ((1.0, 2.0), (1.0, 2.0), "Equal at all 2 steps."),
        ((1.0,), (1.0,), "Equal at the only step."),
        (
            (1.0, 2.0),
            (1.0, 2.5),
            "Equal at 1 of 2 steps; the largest difference is 0.5 at step 2 (2.0e-01 of its size).",
        ),
        ((1.0, 2.0), (1.0,), "B has 2 steps, C 1."),
        ((1.0, math.nan), (1.0, 2.0), "B is not finite at step 2."),
        ((math.nan,), (math.nan,), "Equal at the only step."),
        ((math.inf,) * 7, (1.0,) * 7, "B is not finite at steps 1, 2, 3, 4, 5 and 2 more."),
        ((1.0, None), (1.0, 2.0), "B was not measured at 1 step."),
        ((), (1.0,), "B did not measure it."),
        ((None,), (1.0,), "No step was measured in both arms."),
    ],
)
def test_figures_beside_a_curve(left: tuple[float | None, ...], right: tuple[float | None, ...], words: str) -> None:
    assert words in " ".join(curve(left, right).figures())


def test_ranks_that_differ_are_drawn_apart() -> None:
    left = dataclasses.replace(arm("B"), series=(Series("loss", 0, (1.0,)), Series("loss", 1, (2.0,))))
    right = dataclasses.replace(left, letter="C")
    result = verification(*PASSING.comparisons, arms=(left, right))
    assert [each.ranks for each in curves_of(result, result.comparisons[0])] == [(0,), (1,)]


@given(st.lists(st.none() | st.floats(-1e6, 1e6), min_size=MOST_POINTS + 1, max_size=4 * MOST_POINTS))
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_thinning_keeps_the_peaks(values: list[float | None]) -> None:
    steps, drawn = points(values)
    known = [value for value in values if value is not None]
    assert len(steps) <= MOST_POINTS
    assert steps == sorted(set(steps))
    if known:
        assert max(known) in drawn and min(known) in drawn
