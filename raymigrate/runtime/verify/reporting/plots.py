"""Draws curves as SVG that takes its colours from the page, so that one drawing fits light and dark."""

import io
import re

from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.style import context
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from raymigrate.runtime.verify.reporting.curves import Curve, Values, points
from raymigrate.runtime.verify.reporting.wording import printable

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


def svg_of(curve: Curve, prefix: str) -> Markup:
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
