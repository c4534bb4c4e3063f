"""The Code Quality report of GitLab, which shows findings in merge requests.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from collections import Counter
from typing import Any

from raymigrate.base.findings import Finding, Kind
from raymigrate.reporting.json import json_document
from raymigrate.reporting.paths import relative_posix
from raymigrate.reporting.places import place_in_file
from raymigrate.run.outcome import FileResult, Summary

SEVERITIES = {
    Kind.ERROR: "critical",
    Kind.MANUAL: "major",
    Kind.UNSAFE: "minor",
    Kind.CONVERTED: "minor",
    Kind.NOTE: "info",
}


def gitlab_text(summary: Summary) -> bytes:
    """All findings, apart from those that a comment silences."""
    return json_document([entry for result in summary.results for entry in _entries(result)])


def _entries(result: FileResult) -> list[dict[str, Any]]:
    met: Counter[tuple[str, str]] = Counter()
    entries = []
    for finding in result.findings:
        if finding.kind not in SEVERITIES:
            continue
        key = (finding.code, result.line_of(finding).strip())
        entries.append(_entry(finding, result, "\0".join([relative_posix(finding.path), *key, str(met[key])])))
        met[key] += 1
    return entries


def _entry(finding: Finding, result: FileResult, identity: str) -> dict[str, Any]:
    """One finding; its fingerprint stays the same while other lines come and go."""
    from hashlib import sha256  # noqa: PLC0415 - OpenSSL takes 3 MB, and only this format needs it

    place = place_in_file(finding, result.places or result.document)
    return {
        "description": " ".join(part for part in (finding.message, finding.advice) if part),
        "check_name": finding.code,
        "fingerprint": sha256(identity.encode("utf-8", "surrogateescape")).hexdigest(),
        "severity": SEVERITIES[finding.kind],
        "location": {"path": relative_posix(finding.path), "lines": {"begin": place[0] if place else 1}},
    }
