"""Annotations for GitHub Actions: workflow commands that show findings beside the lines of a pull request.

https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
"""

from collections.abc import Iterator

from raymigrate.findings import Finding, Kind
from raymigrate.reporting.paths import relative_posix

LEVELS = {
    Kind.ERROR: "error",
    Kind.MANUAL: "error",
    Kind.UNSAFE: "warning",
    Kind.CONVERTED: "notice",
    Kind.NOTE: "notice",
    Kind.SKIPPED: "notice",
}


def annotation(finding: Finding) -> Iterator[str]:
    """The one line of a finding."""
    properties = {
        "file": relative_posix(finding.path),
        "line": str(finding.line),
        "col": str(finding.column),
        "title": f"raymigrate {finding.code} ({finding.kind.value}){f', cell {finding.cell}' if finding.cell else ''}",
    }
    place = ",".join(f"{name}={_escaped_property(value)}" for name, value in properties.items())
    message = "\n".join(part for part in (finding.message, finding.advice) if part)
    yield f"::{LEVELS[finding.kind]} {place}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escaped_property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
