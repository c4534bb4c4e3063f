"""The report for people at a terminal."""

from collections import Counter
from collections.abc import Iterator, Sequence

import click

from raymigrate.base.families import LEGACY_TRAINERS
from raymigrate.base.findings import Finding, Kind
from raymigrate.base.words import one_line
from raymigrate.files.needles import PINS
from raymigrate.run.outcome import Summary
from raymigrate.run.rules import rule_by_code

COLOURS = {
    Kind.CONVERTED: "green",
    Kind.UNSAFE: "yellow",
    Kind.MANUAL: "yellow",
    Kind.ERROR: "red",
    Kind.NOTE: "blue",
    Kind.SKIPPED: "bright_black",
}


def finding_lines(finding: Finding, *, dry_run: bool = False, advice: bool = True) -> Iterator[str]:
    """`path:line:column: CODE kind message`, and below it what to do, or why it is skipped.

    Lines are never cut or wrapped: terminals do that, and logs and editors want a finding on one line.

    Args:
        finding: With its place where readers of the file see it.
        dry_run: Whether nothing was written.
        advice: Whether to say what to do.
    """
    cell = f"cell {finding.cell}:" if finding.cell else ""
    place = click.style(f"{one_line(finding.path)}:{cell}{finding.line}:{finding.column}", bold=True)
    word = "would convert" if dry_run and finding.kind is Kind.CONVERTED else finding.kind.value
    kind = click.style(word, fg=COLOURS[finding.kind])
    yield f"{place}: {click.style(finding.code, fg='cyan')} {kind}: {finding.message}"
    if advice:
        yield from _advice_lines(finding)
    if finding.reason:
        yield f"    Reason: {finding.reason}"


def full_lines(finding: Finding, source: str, *, dry_run: bool = False) -> Iterator[str]:
    """The same with the line of the file, a mark below its place, and the document that the rule rests on.

    Args:
        finding: With its place where readers of the file see it.
        source: The line; empty where the file could not be read.
        dry_run: Whether nothing was written.
    """

    first, *rest = finding_lines(finding, dry_run=dry_run)
    yield first
    if source.strip():
        number = f"{finding.line:5} | "
        before = one_line(source[: finding.column - 1])
        yield number + one_line(source)
        yield f"{' ' * (len(number) - 2)}| {' ' * len(before)}^"
    yield from rest
    yield f"    {rule_by_code(finding.code).link}"


def lines_by_rule(findings: Sequence[Finding], *, dry_run: bool = False) -> Iterator[str]:
    """The findings by rule, those that are met most often first; what to do stands once for those that share it."""

    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.code, []).append(finding)
    for code, group in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        files = files_text(len({finding.path for finding in group}))
        yield f"{click.style(code, fg='cyan')} {rule_by_code(code).title}: {len(group)} in {files}"
        by_advice: dict[tuple[str, ...], list[Finding]] = {}
        for finding in group:
            by_advice.setdefault(tuple(_advice_lines(finding)), []).append(finding)
        for advice, together in by_advice.items():
            for finding in together:
                yield from finding_lines(finding, dry_run=dry_run, advice=False)
            yield from advice
        yield ""


def _advice_lines(finding: Finding) -> Iterator[str]:
    if finding.advice and finding.kind is not Kind.CONVERTED:
        yield f"    {finding.advice}"


def next_step(summary: Summary, *, dry_run: bool) -> str:
    """What to do after the run, for somebody at a terminal; empty if there is nothing to do."""
    steps = []
    if summary.changed:
        jobs = [r.path for r in summary.changed if any(f.family in LEGACY_TRAINERS for f in r.findings)]
        if dry_run:
            steps.append("`raymigrate PATH` converts")
            steps += [f"`raymigrate verify {one_line(jobs[0])}` compares the job before and after"] if jobs else []
        else:
            steps.append("read the change (`git diff`)")
            verify = "raymigrate verify --original-rev HEAD"  # what is not committed yet is the conversion
            steps += [f"`{verify} {one_line(jobs[0])}` compares the job before and after"] if jobs else []
    if any(finding.code == PINS and finding.kind is Kind.UNSAFE for finding in summary.findings):
        steps.append(f"`raymigrate --unsafe --select {PINS} PATH` raises the pinned versions")
    left = Counter(finding.code for finding in summary.findings if finding.kind is Kind.MANUAL)
    if left:
        code = left.most_common(1)[0][0]
        steps.append(f"`raymigrate explain {code}` tells more of what is left")
    return f"Next: {'; '.join(steps)}." if steps else ""


def summary_text(summary: Summary, *, dry_run: bool) -> str:
    """One closing sentence."""
    counts = Counter(finding.kind for finding in summary.findings)
    converted = sum(any(f.kind is Kind.CONVERTED for f in result.findings) for result in summary.changed)
    commented = len(summary.changed) - converted  # by --todo
    parts = []
    if converted:
        parts.append(f"{files_text(converted)} {'would be converted' if dry_run else 'converted'}")
    if commented:
        parts.append(f"{files_text(commented)} {'would get' if dry_run else 'got'} other TODO comments")
    if counts[Kind.MANUAL]:
        places = f"{counts[Kind.MANUAL]} place{'s' * (counts[Kind.MANUAL] != 1)}"
        parts.append(f"{places} left for a person")
        if told_once := sum(result.told_once for result in summary.results):
            parts.append(f"{told_once} of them reported by this run only (--todo or --report keeps them)")
    if counts[Kind.UNSAFE]:
        parts.append(f"{counts[Kind.UNSAFE]} more with --unsafe")
    if counts[Kind.ERROR]:
        parts.append(f"{counts[Kind.ERROR]} could not be done")
    if counts[Kind.SKIPPED]:
        parts.append(f"{counts[Kind.SKIPPED]} skipped")
    if summary.known:
        parts = parts or ["nothing new"]
        parts.append(f"{summary.known} in the baseline")
    outcome = ", ".join(parts) if parts else summary.nothing
    pages = (
        f", of {summary.pages} page{'s' * (summary.pages != 1)} only the code blocks outside of HTML"
        if summary.pages
        else ""
    )
    return f"{outcome} ({files_text(summary.scanned)} scanned{pages})"


def written_lines(summary: Summary) -> Iterator[str]:
    """Each file that was written, and why."""
    for result in summary.changed:
        if result.is_written:
            converted = any(finding.kind is Kind.CONVERTED for finding in result.findings)
            word = "new" if result.is_new else "converted" if converted else "commented"
            yield f"{word} {one_line(result.path)}"


def project_lines(summary: Summary, *, dry_run: bool) -> Iterator[str]:
    """What became of each job of several files."""
    for project in summary.projects:
        parts = [f"{files_text(project.read)} read"]
        if project.converted:
            parts.append(f"{project.converted} {'would be converted' if dry_run else 'converted'}")
        if project.left:
            parts.append(f"{project.left} with something left for a person")
        if project.outside:
            parts.append(f"{project.outside} outside the paths given")
        yield f"project {one_line(project.folder)}: {', '.join(parts)}"


def statistics_text(summary: Summary) -> str:
    """Findings per rule, the most frequent first: how many, the rule, what became of them, what it is about."""

    counts = Counter((finding.code, finding.kind.value) for finding in summary.findings)
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return "\n".join(f"{count:6}  {code}  {kind:9}  {rule_by_code(code).title}" for (code, kind), count in rows)


def files_text(count: int) -> str:
    """A number of files, in words."""
    return f"{count} file{'' if count == 1 else 's'}"
