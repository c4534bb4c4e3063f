"""Shows what a run found: decides which stream gets what, and in which format."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import click

from raymigrate.base.findings import Finding, Kind
from raymigrate.reporting import DOCUMENTS, github, text
from raymigrate.reporting.diff import unified_diff
from raymigrate.reporting.gitlab import gitlab_text
from raymigrate.reporting.json import json_text
from raymigrate.reporting.markdown import markdown_text
from raymigrate.reporting.report_file import is_page, write_report
from raymigrate.reporting.sarif import sarif_text
from raymigrate.reporting.text import statistics_text
from raymigrate.run.outcome import FileResult, Summary


@dataclass(frozen=True)
class Output:
    """What the user wants to see.

    Args:
        output_format: One of `FORMATS`.
        group_by: How text is ordered: "file" or "rule".
        diff: Whether stdout gets the changes.
        stdout_taken: Whether stdout is kept for something else than findings: the changes, or converted code.
        dry_run: Whether nothing was written.
        quiet: Print nothing but errors.
        verbose: Also list what was converted and what was skipped.
        statistics: Also count the findings per rule.
        report: File for a report: an HTML page if its name ends so, else Markdown.
    """

    output_format: str = "text"
    group_by: str = "file"
    diff: bool = False
    stdout_taken: bool = False
    dry_run: bool = False
    quiet: bool = False
    verbose: bool = False
    statistics: bool = False
    report: str | None = None

    def show(self, summary: Summary) -> None:
        """Prints a summary and writes the report.

        Raises:
            CannotWorkError: If the report cannot be written.
        """
        if self.diff:
            self._diff(summary)
        if summary.results or not self.quiet:
            self._findings(summary)
        if self.statistics and not self.quiet:
            documents = self.output_format in DOCUMENTS
            click.echo(statistics_text(summary), err=self.stdout_taken or documents)
        if self.report is not None:
            self._report(summary, self.report)

    def is_listed(self, finding: Finding) -> bool:
        """Whether text and annotations show a finding."""
        if self.quiet:
            return finding.kind is Kind.ERROR
        if finding.kind is Kind.SKIPPED:
            return self.verbose
        return finding.kind is not Kind.CONVERTED or self.verbose or (self.dry_run and not self.diff)

    def _diff(self, summary: Summary) -> None:
        stream = sys.stdout.buffer
        for result in summary.changed:
            # Bytes, so that neither line ends nor encodings are touched on the way.
            stream.write(unified_diff(result))
        stream.flush()

    def _findings(self, summary: Summary) -> None:
        if self.output_format == "json":
            click.echo(json_text(summary), err=self.stdout_taken)
        elif self.output_format == "sarif":
            click.echo(sarif_text(summary, dry_run=self.dry_run), err=self.stdout_taken)
        elif self.output_format == "gitlab":
            click.echo(gitlab_text(summary), err=self.stdout_taken)
        else:
            self._lines(summary)

    def _lines(self, summary: Summary) -> None:
        if self.group_by == "rule" and self.output_format == "text":
            listed = [f for f in summary.findings if f.kind is not Kind.ERROR and self.is_listed(f)]
            self._print(text.lines_by_rule(listed, dry_run=self.dry_run))
            for finding in (f for f in summary.findings if f.kind is Kind.ERROR):
                self._print(text.finding_lines(finding), err=True)
        else:
            for result in summary.results:
                for finding in filter(self.is_listed, result.findings):
                    self._print(self._lines_of(finding, result), err=finding.kind is Kind.ERROR)
        if self.quiet:
            return
        if not self.verbose and not self.stdout_taken:  # else what was written is told already
            self._print(text.written_lines(summary), err=True)
        self._print(text.project_lines(summary, dry_run=self.dry_run), err=True)
        click.echo(text.summary_text(summary, dry_run=self.dry_run), err=True)
        if sys.stderr.isatty() and (step := text.next_step(summary, dry_run=self.dry_run)):
            click.echo(step, err=True)

    def _lines_of(self, finding: Finding, result: FileResult) -> Iterator[str]:
        if self.output_format == "github":
            return github.annotation(finding, result.places or result.document)
        if self.output_format == "full":
            return text.full_lines(finding, result.line_of(finding), dry_run=self.dry_run)
        return text.finding_lines(finding, dry_run=self.dry_run)

    def _print(self, lines: Iterable[str], *, err: bool = False) -> None:
        """Prints lines; GitHub reads annotations from either stream."""
        for line in lines:
            click.echo(line, err=err or self.stdout_taken)

    def _report(self, summary: Summary, path: str) -> None:
        write_report(path, self._report_text(summary, path))

    def _report_text(self, summary: Summary, path: str) -> str:
        if not is_page(path):
            return markdown_text(summary, dry_run=self.dry_run)
        from raymigrate.reporting.html import html_text  # noqa: PLC0415 - needs libraries of the extra `report`

        return html_text(summary, dry_run=self.dry_run)
