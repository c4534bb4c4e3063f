"""The report for a comment on a pull request: short, in GitHub's Markdown."""

from __future__ import annotations

import html
import re

from raymigrate.base.words import listed
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
    version_table,
)
from raymigrate.runtime.verify.results import Comparison, Gate, Status, Verification

SIGNS = {
    Status.PASS: "\N{WHITE HEAVY CHECK MARK}",
    Status.EXPLAINED: "\N{LARGE YELLOW CIRCLE}",
    Status.FAIL: "\N{CROSS MARK}",
    Status.NOT_APPLICABLE: "\N{MEDIUM WHITE CIRCLE}",
}
# Comments hold 65,536 characters; figures are cut so that the longest reports stay far below.
LONGEST = 300
MARKED = re.compile(r"([\\`*_\[\]|~])")
# In a table a bar that is not escaped ends even a code span.
BAR = re.compile(r"(?<!\\)\|")
# GitHub would notify a person or link an issue, even where the sign is escaped; an empty comment prevents that.
LINKED = re.compile("([@#])")
TAGGED = re.compile("[<>&]")


def markdown_text(verification: Verification) -> str:
    """The report as Markdown: verdict, gates and causes open, the rest folded away."""
    blocks = [
        "## raymigrate verify",
        f"{SIGNS[overall(verification)]} **{_text(headline(verification), longest=1000)}**",
    ]
    for comparison in verification.comparisons:
        blocks += _comparison(verification, comparison)
    blocks.append(_settings(verification))
    if verification.arms:
        blocks.append(_details("Library versions", _versions(verification)))
        blocks.append(_details("Arms", _arms(verification)))
    if verification.not_covered:
        items = "\n".join(f"* {_text(sentence)}" for sentence in verification.not_covered)
        blocks.append(_details("What was not covered", items))
    blocks.append(_details("Repeat it", _block(verification.command)))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _comparison(verification: Verification, comparison: Comparison) -> list[str]:
    blocks = [f"### {_text(relation(comparison))}: {_text(comparison.claim)}"]
    if len(verification.comparisons) > 1:
        blocks.append(f"{SIGNS[outcome(comparison)]} {_text(verdict(comparison), longest=1000)}")
    if comparison.gates:
        rows = [
            [f"**{_text(gate.name)}**", f"{SIGNS[gate.status]} {gate.status.value}", _figures(gate)]
            for gate in comparison.gates
        ]
        blocks.append(_table(["gate", "verdict", "figures"], rows))
    blocks.append(_text(speed(verification, comparison)))
    for cause in comparison.causes:
        blocks.append(
            f"**Cause: {_text(cause.name)}.** {_text(cause.evidence)}"
            + (f"  \n_What to do:_ {_text(cause.remedy)}" if cause.remedy else "")
        )
    return blocks


def _figures(gate: Gate) -> str:
    checks, left_out = key_checks(gate, most_passed=1)
    lines = [f"{_text(check.name)}: {_text(check.figures)}" for check in checks]
    if left_out:
        lines.append(f"and {left_out} more check{'' if left_out == 1 else 's'}")
    return "<br>".join(lines)


def _settings(verification: Verification) -> str:
    lines = []
    for title, settings in (("Pins", verification.pins), ("Overrides", verification.overrides)):
        if settings:
            lines.append(f"{title}: " + ", ".join(f"{_text(each.name)} {_code(each.value)}" for each in settings))
    return "  \n".join(lines)


def _versions(verification: Verification) -> str:
    heads, libraries = version_table(verification)
    rows = []
    for row in libraries:
        versions = [_code(version) if version else "none" for version in row.versions]
        rows.append([_text(row.library), *versions, "differs" if row.differs else ""])
    return _table(["library", *map(_text, heads), ""], rows)


def _arms(verification: Verification) -> str:
    rows = []
    for arm in verification.arms:
        notes = listed(_text(note) for note in arm.notes)
        rows.append([_text(arm.letter), _text(arm.title), _code(str(arm.script)), seconds_text(arm.seconds), notes])
    return _table(["arm", "what", "script", "time", "notes"], rows)


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *([BAR.sub(r"\\|", cell) for cell in cells] for cells in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _details(summary: str, content: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{content}\n\n</details>"


def _text(text: str, longest: int = LONGEST) -> str:
    """Text that Markdown shows as it is: on one line, nothing emphasised, nobody mentioned."""
    line = " ".join(printable(text).split())
    if len(line) > longest:
        line = f"{line[: longest - 3]}..."
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return LINKED.sub(r"\1<!-- -->", MARKED.sub(r"\\\1", line))


def _code(text: str) -> str:
    """A code span on one line. Text that looks like a tag is escaped, as not every renderer knows to leave it alone."""
    line = " ".join(printable(text).split())
    if TAGGED.search(line):
        return f"<code>{_text(line)}</code>"
    fence = _fence(line, 1)
    space = " " if "`" in line else ""
    return f"{fence}{space}{line}{space}{fence}" if line else ""


def _block(text: str) -> str:
    """A block of code that can be copied."""
    text = printable(text)
    if TAGGED.search(text):
        return f"<pre><code>{html.escape(text, quote=False).replace('@', '&#64;')}</code></pre>"
    fence = _fence(text, 3)
    return f"{fence}sh\n{text}\n{fence}"


def _fence(text: str, least: int) -> str:
    """Backticks, more of them than stand together inside."""
    return "`" * max(least, max((len(run) for run in re.findall("`+", text)), default=0) + 1)
