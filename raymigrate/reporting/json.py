"""The report for programs: one JSON document. Its fields are a contract; `version` rises when one changes."""

import json
from dataclasses import asdict
from typing import Any

from raymigrate.findings import Finding
from raymigrate.session import Summary

VERSION = 1


def json_text(summary: Summary) -> str:
    """All findings and changed files as JSON."""
    document = {
        "version": VERSION,
        "scanned": summary.scanned,
        "changed": [result.path for result in summary.changed],
        "projects": [asdict(project) for project in summary.projects],
        "findings": [finding_dict(finding) for finding in summary.findings],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def finding_dict(finding: Finding) -> dict[str, Any]:
    """One finding, with the link of its rule."""
    from raymigrate.rules import rule_by_code  # noqa: PLC0415 - loads every codemod

    return {**asdict(finding), "kind": finding.kind.value, "link": rule_by_code(finding.code).link}
