"""The report as one HTML file that loads nothing: text from a template, curves as inline SVG."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.style import context
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from raymigrate import __version__
from raymigrate.runtime.verify.reporting.curves import Curve, Values, curves_of, points
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
# matplotlib knows no CSS variables: it draws in colours that occur nowhere else, which are exchanged afterwards.
COLOURS = {
    "#010203": "var(--ink)",
    "#010204": "var(--grid)",
    "#010205": "var(--left)",
    "#010206": "var(--right)",
    "#010207": "var(--difference)",
}
INK, GRID, LEFT, RIGHT, DIFFERENCE = COLOURS
FEW = 40  # points up to which each gets a dot
NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
IDENTIFIER = re.compile(r'\bid="|href="#|url\(#')


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
    drawings = [(curve, _svg_of(curve, f"c{number}-{index}")) for index, curve in enumerate(curves[:MOST_CURVES])]
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


def _svg_of(curve: Curve, prefix: str) -> Markup:
    """A drawing: both arms above, their difference below; empty if no value can be drawn.

    Args:
        curve: What to draw.
        prefix: Set before every id, so that the drawings on a page do not share any.
    """
    if not curve.drawable:
        return Markup()
    # The defaults, whatever the user's matplotlibrc says. Text stays text: it is smaller, can be searched and takes the
    # font of the page. With a fixed salt the same curves give the same file.
    with context(["default", {"svg.fonttype": "none", "svg.hashsalt": "raymigrate"}]):
        stream = io.StringIO()
        _figure(curve).savefig(stream, format="svg", transparent=True, metadata=NO_METADATA)
    return _inline(stream.getvalue(), curve.title, prefix)


def _figure(curve: Curve) -> Figure:
    figure = Figure(figsize=(5.0, 3.1), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2.6, 1))
    # The reference is broad and light, the judged arm thin above it: equal curves show both. Dashes make that plainer,
    # but dissolve where a long curve is restless.
    many = curve.longest > FEW
    _draw(above, curve.left, LEFT, width=2.4 if many else 3.6)
    _draw(above, curve.right, RIGHT, width=0.6 if many else 1.4, dashed=not many)
    _draw(below, curve.differences, DIFFERENCE, width=0.6 if many else 1.2)
    left, right = (printable(letter) for letter in curve.letters)
    below.set_ylabel(f"{right} \N{MINUS SIGN} {left}", color=INK, fontsize=8, parse_math=False)
    below.set_xlabel("step", color=INK, fontsize=8)
    for axes in (above, below):
        _dress(axes)
    _limit(above, below, curve)
    return figure


def _draw(axes: Axes, values: Values, colour: str, *, width: float, dashed: bool = False) -> None:
    steps, drawn = points(values)
    axes.plot(
        steps,
        drawn,
        color=colour,
        linewidth=width,
        linestyle=(0, (3, 2)) if dashed else "-",
        marker="o" if len(drawn) <= FEW else "",
        markersize=width + 1.6,
    )


def _dress(axes: Axes) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(GRID)
    axes.grid(visible=True, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, labelsize=8, length=0)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, min_n_ticks=1))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4))
    numbers = ScalarFormatter(useOffset=False)
    numbers.set_powerlimits((-3, 4))
    axes.yaxis.set_major_formatter(numbers)
    axes.yaxis.get_offset_text().set(color=INK, fontsize=8)


def _limit(above: Axes, below: Axes, curve: Curve) -> None:
    """Axes for runs of one step, and for differences that are all zero."""
    margin = max(0.5, curve.longest * 0.02)
    above.set_xlim(1 - margin, max(curve.longest, 1) + margin)
    if not any(curve.differences):
        below.set_ylim(-1, 1)
        below.set_yticks([0])


def _inline(svg: str, title: str, prefix: str) -> Markup:
    """The drawing as an element of a page: no prologue, no size of its own, a name for those who cannot see it."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    head, rest = svg.split(">", 1)
    head = re.sub(r'\s(?:width|height)="[^"]*"', "", head)
    svg = f'{head} role="img" aria-label="{escape(printable(title))}">{rest}'
    svg = IDENTIFIER.sub(lambda match: f"{match[0]}{prefix}-", svg)
    for placeholder, variable in COLOURS.items():
        svg = svg.replace(placeholder, variable)
    return Markup(svg)
