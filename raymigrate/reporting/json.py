"""The report for programs: one JSON document. Its fields are a contract; `version` rises when one changes."""

import json
from dataclasses import asdict
from typing import Any

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Finding
from raymigrate.run.outcome import Summary
from raymigrate.run.rules import rule_by_code

VERSION = 1
NOT_ASCII = lazy_regex(r"[^\n\x20-\x7e]")


def json_text(summary: Summary) -> bytes:
    """All findings and changed files as JSON."""
    document = {
        "version": VERSION,
        "scanned": summary.scanned,
        "changed": [result.path for result in summary.changed],
        "projects": [asdict(project) for project in summary.projects],
        "findings": [finding_dict(finding) for finding in summary.findings],
    }
    return json_document(document)


def json_document(value: object) -> bytes:
    """A value as JSON: UTF-8 whatever the terminal speaks, with all escaped that is not printable, or no UTF-8."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return NOT_ASCII.sub(
        lambda match: match[0] if match[0].isprintable() else json.dumps(match[0])[1:-1], text
    ).encode()


def finding_dict(finding: Finding) -> dict[str, Any]:
    """One finding, with the link of its rule; what its texts were made from is nobody else's concern."""
    told = asdict(finding)
    del told["templates"]
    return {**told, "kind": finding.kind.value, "link": rule_by_code(finding.code).link}
