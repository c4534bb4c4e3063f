"""The report for a pull request: what was converted, what is left and why, counts per rule."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Finding, Kind
from raymigrate.base.words import one_line
from raymigrate.reporting.paths import relative_posix
from raymigrate.reporting.places import line_text
from raymigrate.reporting.text import files_text, project_lines, summary_text
from raymigrate.run.outcome import Summary
from raymigrate.run.rules import rule_by_code

TAGGED = lazy_regex("[<>&`]")
SECTIONS = (
    (Kind.ERROR, "Could not be done"),
    (Kind.MANUAL, "Left for a person"),
    (Kind.UNSAFE, "Converted with `--unsafe` only"),
    (Kind.NOTE, "To know"),
    (Kind.SKIPPED, "Skipped by a comment"),
)


def markdown_text(summary: Summary, *, dry_run: bool) -> str:
    """The whole report."""
    blocks = ["# raymigrate", f"{summary_text(summary, dry_run=dry_run)}."]
    if projects := [f"- {_cell(line)}" for line in project_lines(summary, dry_run=dry_run)]:
        blocks.append("\n".join(projects))
    for kind, title in SECTIONS:
        findings = [finding for finding in summary.findings if finding.kind is kind]
        if findings:
            blocks += [f"## {title} ({len(findings)})", _findings_table(findings)]
    if summary.changed:
        blocks.append(f"## {'Would be converted' if dry_run else 'Converted'} ({files_text(len(summary.changed))})")
        blocks += _changed_files(summary)
    if any(summary.findings):
        blocks += ["## Per rule", _rules_table(summary)]
    return "\n\n".join(blocks) + "\n"


def _findings_table(findings: Sequence[Finding]) -> str:
    rows = [
        (
            _code(one_line(relative_posix(f.path))) + (f" {line_text(f)}" if f.cell else f":{f.line}"),
            _rule_link(f.code),
            _cell(f.message),
            _cell(f.reason if f.kind is Kind.SKIPPED else f.advice),
        )
        for f in findings
    ]
    last = "Reason" if findings[0].kind is Kind.SKIPPED else "What to do"
    return _table(("Place", "Rule", "What happens", last), rows)


def _changed_files(summary: Summary) -> Iterator[str]:
    """A folded list per file, so that a long report stays readable."""
    for result in summary.changed:
        done = [finding for finding in result.findings if finding.kind is Kind.CONVERTED]
        if not done:
            continue
        lines = "\n".join(f"- {line_text(f)}, {_rule_link(f.code)}: {_cell(f.message)}" for f in done)
        path = _html(one_line(relative_posix(result.path)))
        yield f"<details>\n<summary><code>{path}</code>: {len(done)}</summary>\n\n{lines}\n\n</details>"


def _rules_table(summary: Summary) -> str:
    counts = Counter((finding.code, finding.kind) for finding in summary.findings)
    kinds = [kind for kind in Kind if any(kind is other for _, other in counts)]
    rows = [
        (_rule_link(code), _cell(rule_by_code(code).title), *(str(counts[code, kind] or "") for kind in kinds))
        for code in sorted({code for code, _ in counts})
    ]
    return _table(("Rule", "What", *(kind.value for kind in kinds)), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def _rule_link(code: str) -> str:
    return f"[{code}]({rule_by_code(code).link})"


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _cell(text: str) -> str:
    """Text in which nothing is taken for Markdown or HTML, on one line."""
    escaped = re.sub(r"([\\`*_\[\]|~#])", r"\\\1", _html(text))
    return " ".join(escaped.split())


def _code(text: str) -> str:
    """A path as code; GitHub lets a backslash keep a bar from ending the cell even there.

    What looks like a tag is escaped: not every renderer leaves code alone.
    """
    return f"<code>{_cell(text)}</code>" if TAGGED.search(text) else f"`{text}`".replace("|", "\\|")
