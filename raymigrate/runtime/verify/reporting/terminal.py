"""The report for people at a terminal, in a pipe and in a log of continuous integration, and the progress before it."""

from __future__ import annotations

import os
import sys
import time
from types import TracebackType
from typing import IO

from rich import box
from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from raymigrate.runtime.verify.reporting.wording import (
    headline,
    key_checks,
    outcome,
    overall,
    printable,
    relation,
    seconds_text,
    speed,
    verdict,
)
from raymigrate.runtime.verify.results import Comparison, Gate, Status, Verification

STYLES = {Status.PASS: "green", Status.EXPLAINED: "yellow", Status.FAIL: "bold red", Status.NOT_APPLICABLE: "dim"}
WORDS = {Status.PASS: "pass", Status.EXPLAINED: "explained", Status.FAIL: "FAIL", Status.NOT_APPLICABLE: "n/a"}
# How signs that figures may hold are written where the encoding lacks them.
PLAIN = {
    "\N{ALMOST EQUAL TO}": "~",
    "\N{NOT EQUAL TO}": "!=",
    "\N{LESS-THAN OR EQUAL TO}": "<=",
    "\N{GREATER-THAN OR EQUAL TO}": ">=",
    "\N{MULTIPLICATION SIGN}": "x",
    "\N{PLUS-MINUS SIGN}": "+-",
    "\N{MINUS SIGN}": "-",
    "\N{EN DASH}": "-",
    "\N{EM DASH}": "-",
    "\N{RIGHTWARDS ARROW}": "->",
    "\N{HORIZONTAL ELLIPSIS}": "...",
}
PIPE_WIDTH = 100
# In a pipe a line per step would bury everything else.
SECONDS_BETWEEN_LINES = 30.0


def make_console(stream: IO[str] | None = None) -> Console:
    """A console that behaves in a pipe: no colours, 100 columns unless COLUMNS says otherwise, text as it is.

    FORCE_COLOR brings colours into a log, but nothing that moves.
    """
    is_terminal = (stream or sys.stdout).isatty()
    width = None if is_terminal or os.environ.get("COLUMNS") else PIPE_WIDTH
    return Console(
        file=stream,
        width=width,
        markup=False,
        emoji=False,
        highlight=False,
        force_interactive=None if is_terminal else False,
    )


def print_summary(verification: Verification, console: Console) -> None:
    """Prints gates, causes, settings and, last, the verdict."""
    for comparison in verification.comparisons:
        _print_comparison(verification, comparison, console)
    _print_settings(verification, console)
    if verification.not_covered:
        _print(console, "Not covered:", style="bold")
        for sentence in verification.not_covered:
            _print_item(console, sentence)
    if verification.not_covered or verification.pins or verification.overrides:
        console.print()
    _print(console, headline(verification), style=STYLES[overall(verification)])


class ArmProgress:
    """A live line in a terminal while an arm runs, a plain line now and then in a pipe.

    Leaving the context ends the live line; an arm that was not done by then is said to have stopped.

    Args:
        console: Where to show it.
        seconds_between_lines: How seldom `update` prints in a pipe.
    """

    def __init__(self, console: Console, seconds_between_lines: float = SECONDS_BETWEEN_LINES):
        self._console = console
        self._lively = console.is_interactive
        self._between = seconds_between_lines
        self._live: Live | None = None
        self._name = ""
        self._text = ""
        self._started = self._printed = 0.0

    def start(self, letter: str, title: str) -> None:
        """Begins an arm; one that still runs is said to have stopped."""
        self._stop()
        self._name, self._text = f"{letter}  {title}", ""
        self._started = self._printed = time.monotonic()
        if self._lively:
            self._live = Live(_Line(self), console=self._console, refresh_per_second=8, transient=True)
            self._live.start()
        else:
            _print(self._console, f"{self._name}: started")

    def update(self, text: str) -> None:
        """Says how far the arm is: `step 5 of 12`."""
        self._text = text
        now = time.monotonic()
        if self._name and not self._lively and now - self._printed >= self._between:
            self._printed = now
            _print(self._console, f"{self._name}: {text}, {seconds_text(self.elapsed)}")

    def done(self, seconds: float) -> None:
        """Ends the arm and leaves one line behind."""
        self._end(f"done in {seconds_text(seconds)}")

    def tell(self, text: str) -> None:
        """Prints a line."""
        _print(self._console, text)

    @property
    def elapsed(self) -> float:
        """Seconds since the arm began."""
        return time.monotonic() - self._started

    @property
    def line(self) -> Text:
        """The live line of this moment."""
        return _fit(
            "  ".join(part for part in (self._name, seconds_text(self.elapsed), self._text) if part), self.console
        )

    @property
    def console(self) -> Console:
        """Where it is shown."""
        return self._console

    def __enter__(self) -> ArmProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        self._end(f"stopped after {seconds_text(self.elapsed)}")

    def _end(self, how: str) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
        if self._name:
            _print(self._console, f"{self._name}: {how}")
        self._name = ""


class _Line:
    """What is live: a spinner and a line that is made again each time it is drawn, cut to the terminal's width."""

    def __init__(self, progress: ArmProgress):
        self._progress = progress
        dots = _carries(progress.console.encoding, "\N{BRAILLE PATTERN DOTS-1}")
        self._spinner = Spinner("dots" if dots else "line")

    def __rich__(self) -> Table:
        line = self._progress.line
        line.no_wrap, line.overflow = True, "crop"
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_row(self._spinner, line)
        return grid


def _print(console: Console, text: str, style: str = "") -> None:
    """Prints text that may come from anywhere; in a pipe a sentence stays one line, so that it can be searched for."""
    console.print(_fit(text, console, style=style), soft_wrap=not console.is_interactive)


def _fit(text: str, console: Console, style: str = "") -> Text:
    """Text that the console's encoding can carry; a character it lacks is written as Python would escape it."""
    text = printable(text)
    for sign, plain in PLAIN.items():
        if sign in text and not _carries(console.encoding, sign):
            text = text.replace(sign, plain)
    return Text(text.encode(console.encoding, "backslashreplace").decode(console.encoding), style=style)


def _carries(encoding: str, text: str) -> bool:
    """Whether an encoding has all the characters of a text."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _print_comparison(verification: Verification, comparison: Comparison, console: Console) -> None:
    _print(console, f"{relation(comparison)}  {comparison.claim}", style="bold")
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    # Folded, as an ellipsis would hide what matters and is not in every encoding.
    table.add_column("gate", overflow="fold", min_width=len("evaluation"))
    table.add_column("verdict", overflow="fold", min_width=len("explained"))
    table.add_column("figures", overflow="fold")
    for gate in comparison.gates:
        word = Text(WORDS[gate.status], style=STYLES[gate.status])
        table.add_row(_fit(gate.name, console), word, _figures(gate, console))
    if comparison.gates:
        console.print(table)
    console.print()
    for cause in comparison.causes:
        _print(console, f"Cause: {cause.name}", style="bold")
        _print_item(console, cause.evidence)
        if cause.remedy:
            _print_item(console, f"What to do: {cause.remedy}")
        console.print()
    if measured := speed(verification, comparison):
        _print(console, measured)
        console.print()
    if len(verification.comparisons) > 1:
        _print(console, verdict(comparison), style=STYLES[outcome(comparison)])
        console.print()


def _figures(gate: Gate, console: Console) -> Text:
    checks, left_out = key_checks(gate, most_passed=2)
    lines = []
    for check in checks:
        style = STYLES[check.status] if check.status in (Status.FAIL, Status.EXPLAINED) else ""
        lines.append(Text.assemble(_fit(check.name, console, style=style), ": ", _fit(check.figures, console)))
    if left_out:
        lines.append(Text(f"and {left_out} more check{'' if left_out == 1 else 's'}", style="dim"))
    return Text("\n").join(lines)


def _print_settings(verification: Verification, console: Console) -> None:
    """Pins on one line, as they are always there; overrides with their reasons, as somebody asked for them."""
    if verification.pins:
        pins = ", ".join(f"{pin.name} {pin.value}" for pin in verification.pins)
        _print(console, f"Pinned in every arm: {pins}")
    for override in verification.overrides:
        reason = f" ({override.reason})" if override.reason else ""
        _print(console, f"Overridden in every arm: {override.name} {override.value}{reason}")


def _print_item(console: Console, text: str) -> None:
    """An indented item: wrapped beneath itself in a terminal, on one line in a pipe."""
    if not console.is_interactive:
        _print(console, f"  * {text}")
        return
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_row(Text("  *"), _fit(text, console))
    console.print(grid)
