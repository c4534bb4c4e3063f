"""Annotations for GitHub Actions: workflow commands that show findings beside the lines of a pull request.

https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
"""

from collections.abc import Iterator

from raymigrate.base.findings import Finding, Kind
from raymigrate.base.words import one_line
from raymigrate.documents import Document
from raymigrate.reporting.paths import relative_posix
from raymigrate.reporting.places import line_text, place_in_file

LEVELS = {
    Kind.ERROR: "error",
    Kind.MANUAL: "error",
    Kind.UNSAFE: "warning",
    Kind.CONVERTED: "notice",
    Kind.NOTE: "notice",
    Kind.SKIPPED: "notice",
}


def annotation(finding: Finding, document: Document | None = None) -> Iterator[str]:
    """The one line of a finding.

    Args:
        finding: The finding.
        document: The one that it has its place in. Of a notebook GitHub shows the JSON, so the line is one of that, and
            the title names the cell.
    """
    properties = {"file": relative_posix(finding.path)}
    if in_file := place_in_file(finding, document):
        properties |= {"line": str(in_file[0]), "col": str(in_file[1])}
    cell = f", {line_text(finding)}" if finding.cell else ""
    properties["title"] = f"raymigrate {finding.code} ({finding.kind.value}){cell}"
    place = ",".join(f"{name}={_escaped_property(value)}" for name, value in properties.items())
    message = "\n".join(part for part in (finding.message, finding.advice) if part)
    yield f"::{LEVELS[finding.kind]} {place}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escaped_property(text: str) -> str:
    return one_line(_escaped(text).replace(":", "%3A").replace(",", "%2C"))
