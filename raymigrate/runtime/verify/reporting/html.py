"""The report as one HTML file that loads nothing: text from a template, curves as inline SVG."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from raymigrate import __version__
from raymigrate.runtime.verify.reporting.curves import Curve, curves_of
from raymigrate.runtime.verify.reporting.plots import svg_of
from raymigrate.runtime.verify.reporting.wording import (
    gate_counts,
    headline,
    name_of_the_other,
    outcome,
    overall,
    printable,
    relation,
    seconds_text,
    speed,
    verdict,
    version_table,
)
from raymigrate.runtime.verify.results import Comparison, Status, Verification

# A page with the curves of hundreds of ranks would be too heavy to open; the gates have compared them all.
MOST_CURVES = 24


@dataclass(frozen=True)
class Section:
    """All that is shown of one comparison; `drawings` holds curves with their SVG, `undrawn` counts the others."""

    comparison: Comparison
    relation: str
    verdict: str
    counts: str
    status: Status
    speed: str
    drawings: list[tuple[Curve, Markup]]
    undrawn: int


def html_text(verification: Verification) -> str:
    """The report as a page."""
    version_heads, version_rows = version_table(verification)
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            verification=verification,
            sections=[_section(verification, number) for number in range(len(verification.comparisons))],
            headline=headline(verification),
            other=name_of_the_other(verification),
            status=overall(verification),
            version_heads=version_heads,
            version_rows=version_rows,
            raymigrate_version=__version__,
        )
    )


def _section(verification: Verification, number: int) -> Section:
    comparison = verification.comparisons[number]
    curves = curves_of(verification, comparison)
    drawings = [(curve, svg_of(curve, f"c{number}-{index}")) for index, curve in enumerate(curves[:MOST_CURVES])]
    return Section(
        comparison,
        relation(comparison),
        verdict(comparison),
        gate_counts(comparison),
        outcome(comparison),
        speed(verification, comparison),
        drawings,
        len(curves) - len(drawings),
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=ChoiceLoader(
            [PackageLoader("raymigrate.runtime.verify.reporting", ""), PackageLoader("raymigrate.reporting", "")]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters["seconds"] = seconds_text
    environment.filters["slug"] = lambda status: status.value.replace(" ", "-")
    return environment


def _shown(value: Any) -> Any:
    """A value as it is on the page: control characters spelled out, markup of our own as it is."""
    return value if isinstance(value, Markup) else printable(str(value))
