"""The report for people at a terminal."""

from collections import Counter
from collections.abc import Iterator

import click

from raymigrate.findings import Finding, Kind
from raymigrate.session import Summary

COLOURS = {Kind.CONVERTED: "green", Kind.UNSAFE: "yellow", Kind.MANUAL: "yellow", Kind.ERROR: "red"}


def finding_lines(finding: Finding) -> Iterator[str]:
    """`path:line:column: CODE kind message`, and what to do below it."""
    place = click.style(f"{finding.path}:{finding.line}:{finding.column}", bold=True)
    kind = click.style(finding.kind.value, fg=COLOURS[finding.kind])
    yield f"{place}: {click.style(finding.code, fg='cyan')} {kind}: {finding.message}"
    if finding.advice and finding.kind is not Kind.CONVERTED:
        yield f"    {finding.advice}"


def summary_text(summary: Summary, *, dry_run: bool) -> str:
    """One closing sentence."""
    counts = Counter(finding.kind for finding in summary.findings)
    changed = len(summary.changed)
    parts = []
    if changed:
        parts.append(f"{_files(changed)} {'would be converted' if dry_run else 'converted'}")
    if counts[Kind.MANUAL]:
        parts.append(f"{counts[Kind.MANUAL]} left for a person")
    if counts[Kind.UNSAFE]:
        parts.append(f"{counts[Kind.UNSAFE]} more with --unsafe")
    if counts[Kind.ERROR]:
        parts.append(f"{counts[Kind.ERROR]} could not be done")
    outcome = ", ".join(parts) if parts else "nothing legacy found"
    return f"{outcome} ({_files(summary.scanned)} scanned)"


def project_lines(summary: Summary, *, dry_run: bool) -> Iterator[str]:
    """What became of each job of several files."""
    for project in summary.projects:
        parts = [f"{_files(project.read)} read"]
        if project.converted:
            parts.append(f"{project.converted} {'would be converted' if dry_run else 'converted'}")
        if project.left:
            parts.append(f"{project.left} with something left for a person")
        if project.outside:
            parts.append(f"{project.outside} outside the paths given")
        yield f"project {project.folder}: {', '.join(parts)}"


def statistics_text(summary: Summary) -> str:
    """Findings per rule, the most frequent first."""
    counts = Counter((finding.code, finding.kind.value) for finding in summary.findings)
    return "\n".join(f"{count:6}  {code}  {kind}" for (code, kind), count in counts.most_common())


def _files(count: int) -> str:
    return f"{count} file{'' if count == 1 else 's'}"
