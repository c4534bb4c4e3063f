"""SARIF 2.1.0, the format of GitHub code scanning and of many editors.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html; the section numbers below are those of it.
"""

from codecs import BOM_UTF8
from typing import Any

from raymigrate import __version__
from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Finding, Kind, Rule
from raymigrate.documents import Document, Plain
from raymigrate.documents.line_changes import LineMatcher
from raymigrate.reporting.json import json_document
from raymigrate.reporting.paths import uri
from raymigrate.reporting.places import place_in_file
from raymigrate.run.outcome import FileResult, Summary
from raymigrate.run.rules import every_rule

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LINE = lazy_regex(r"[^\n]*\n|[^\n]+")  # what SARIF takes for a line (3.14.27)
MAX_FIXES = 1_000_000  # characters of the fixes of a file that each of its results can have
LEVELS = {
    Kind.ERROR: "error",
    Kind.MANUAL: "error",
    Kind.UNSAFE: "warning",
    Kind.CONVERTED: "warning",
    Kind.NOTE: "note",
    Kind.SKIPPED: "note",
}


def sarif_text(summary: Summary, *, dry_run: bool) -> bytes:
    """One log with one run.

    A convertible result carries the whole change of its file as its fix: the edits of a conversion belong together.
    Where a file has so many results that this would fill a log, its first one has the fix.
    """
    codes = {rule.code: index for index, rule in enumerate(every_rule())}
    run = {
        "tool": {
            "driver": {"name": "raymigrate", "version": __version__, "rules": [_rule(rule) for rule in every_rule()]}
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": not any(f.kind is Kind.ERROR for f in summary.findings)}],
        "results": [entry for result in summary.results for entry in _results(result, codes, dry_run=dry_run)],
    }
    return json_document({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(rule: Rule) -> dict[str, Any]:
    help_text = f"At run time: {rule.why}\n\nWhat to do: {rule.fix}"
    return {
        "id": rule.code,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": f"{help_text}\n\nSee {rule.link}", "markdown": f"{help_text}\n\nSee <{rule.link}>."},
        "helpUri": rule.link,
        "defaultConfiguration": {"level": "error"},
    }


def _results(result: FileResult, codes: dict[str, int], *, dry_run: bool) -> list[dict[str, Any]]:
    document = result.places or result.document
    entries = [_result(finding, codes[finding.code], document) for finding in result.findings]
    convertible = [
        entry for entry, finding in zip(entries, result.findings, strict=True) if finding.kind is Kind.CONVERTED
    ]
    if not dry_run:
        for entry in convertible:
            entry.update(kind="informational", level="none")  # done: nothing to look after (3.27.9)
    elif convertible and result.after is not None:
        fix = _fix(result)
        is_short = len(json_document(fix)) * len(convertible) <= MAX_FIXES
        for entry in convertible if is_short else convertible[:1]:
            entry["fixes"] = [fix]
    return entries


def _result(finding: Finding, rule_index: int, document: Document | None) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule_index,
        "level": LEVELS[finding.kind],
        "message": {"text": " ".join(part for part in (finding.message, finding.advice) if part)},
        "locations": [
            {"physicalLocation": {"artifactLocation": _artifact(finding.path), **_region(finding, document)}}
        ],
        "properties": {"kind": finding.kind.value},
    }
    if finding.cell:
        entry["properties"].update(cell=finding.cell, cellLine=finding.line, cellColumn=finding.column)
        entry["locations"][0]["logicalLocations"] = [{"name": f"cell {finding.cell}"}]
    if finding.kind is Kind.SKIPPED:
        entry["suppressions"] = [{"kind": "inSource", "justification": finding.reason or "no reason given"}]
    return entry


def _region(finding: Finding, document: Document | None) -> dict[str, Any]:
    """The place in the file itself, which for a notebook is JSON: a region is one of the artifact (3.30)."""
    place = place_in_file(finding, document)
    return {"region": {"startLine": place[0], "startColumn": place[1]}} if place else {}  # the properties name the cell


def _artifact(path: str) -> dict[str, str]:
    location = uri(path)
    return {"uri": location} if location.startswith("file:") else {"uri": location, "uriBaseId": "%SRCROOT%"}


def _fix(result: FileResult) -> dict[str, Any]:
    """The change of a file as replacements of whole lines (3.55)."""
    before, after = (LINE.findall(text) for text in _texts_of_file(result))
    changes = LineMatcher(before, after).get_opcodes()
    replacements = [
        {
            "deletedRegion": _lines_region(before, start, end),
            "insertedContent": {"text": "".join(after[new_start:new_end])},
        }
        for tag, start, end, new_start, new_end in changes
        if tag != "equal"
    ]
    return {
        "description": {"text": "Convert the file; its edits belong together."},
        "artifactChanges": [{"artifactLocation": _artifact(result.path), "replacements": replacements}],
    }


def _texts_of_file(result: FileResult) -> tuple[str, str]:
    """The text of the whole file before and after: of a notebook its JSON, of a page its prose too."""
    assert result.after is not None
    if result.document is None or isinstance(result.document, Plain):
        return result.before, result.after
    data = (result.document.encode(result.before), result.new_bytes)
    encoding = result.document.encoding
    before, after = (one.removeprefix(BOM_UTF8).decode(encoding) for one in data)
    return before, after


def _lines_region(lines: list[str], start: int, end: int) -> dict[str, int]:
    start_line, start_column = _before_line(lines, start)
    end_line, end_column = _before_line(lines, end)
    return {"startLine": start_line, "startColumn": start_column, "endLine": end_line, "endColumn": end_column}


def _before_line(lines: list[str], index: int) -> tuple[int, int]:
    """The place before a line; for the end of a file without a last newline, the one after its last character."""
    if index == len(lines) and lines and not lines[-1].endswith("\n"):
        return index, len(lines[-1]) + 1
    return index + 1, 1
