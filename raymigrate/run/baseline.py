"""Findings that are known: a project that migrates file by file keeps them in a file, and only new ones are reported.

A finding is known by its rule, its file and the text of its line, so that it stays known while other lines come and go.
Of several that are equal in that, as many are known as the file says.
"""

# ruff: noqa: PTH100, PTH120, PTH123 - works on strings, as discovery.py does

import json
import os
from collections import Counter
from dataclasses import replace

from raymigrate.base.errors import CannotWorkError
from raymigrate.base.findings import Finding, Kind
from raymigrate.base.words import one_line
from raymigrate.files.contents import write_file
from raymigrate.run.outcome import FileResult, Summary

VERSION = 1
KINDS = (Kind.CONVERTED, Kind.UNSAFE, Kind.MANUAL, Kind.NOTE)  # an error is never known, it hides what else is there

Key = tuple[str, str, str]  # file, as seen from the baseline's folder; rule; text of the line


def write_baseline(path: str, summary: Summary) -> int:
    """Writes all findings of a run as known ones, a line each, and gives their number.

    Args:
        path: The file to write.
        summary: With its findings where readers of the files see them.

    Raises:
        CannotWorkError: If it cannot be written.
    """
    met = Counter(_key(finding, result, path) for result in summary.results for finding in _open(result))
    entries = [
        json.dumps({"file": file, "rule": rule, "line": line, "count": count})
        for (file, rule, line), count in sorted(met.items())
    ]
    text = f'{{"version": {VERSION}, "findings": [\n' + ",\n".join(entries) + "\n]}\n"
    try:
        write_file(path, text.encode())
    except OSError as error:
        message = f"{one_line(path)}: the baseline cannot be written: {error.strerror or error}."
        raise CannotWorkError(message) from None
    return sum(met.values())


def read_baseline(path: str) -> Counter[Key]:
    """The findings that a file knows.

    Raises:
        CannotWorkError: If it cannot be read or is not a baseline: it is never taken for an empty one.
    """
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        if document["version"] != VERSION:
            raise CannotWorkError(f"{one_line(path)}: a baseline of another version of raymigrate; write it again.")
        return Counter({(e["file"], e["rule"], e["line"]): int(e["count"]) for e in document["findings"]})
    except OSError as error:
        message = f"{one_line(path)}: the baseline cannot be read: {error.strerror}. --write-baseline makes one."
    except (ValueError, KeyError, TypeError, RecursionError):
        message = f"{one_line(path)}: this is not a baseline; --write-baseline makes one."
    raise CannotWorkError(message)


def without_known(summary: Summary, path: str, *, dry_run: bool) -> Summary:
    """A summary without the findings that a baseline knows; it counts them.

    Of a file that a run without writing would convert, all of whose changes are known, nothing is said.

    Raises:
        CannotWorkError: If the baseline cannot be read.
    """
    known = read_baseline(path)
    results = []
    for result in summary.results:
        new = [finding for finding in result.findings if not _is_known(_key(finding, result, path), finding, known)]
        changes = result.changes and not (dry_run and _only_known(result.findings, new))
        if new or changes:
            results.append(replace(result, findings=new, changes=changes, after=result.after if changes else None))
    count = sum(1 for _ in summary.findings) - sum(len(result.findings) for result in results)
    return replace(summary, results=results, known=count)


def _only_known(findings: list[Finding], new: list[Finding]) -> bool:
    return any(f.kind is Kind.CONVERTED for f in findings) and not any(f.kind is Kind.CONVERTED for f in new)


def _is_known(key: Key, finding: Finding, known: Counter[Key]) -> bool:
    if finding.kind not in KINDS or not known[key]:
        return False
    known[key] -= 1
    return True


def _open(result: FileResult) -> list[Finding]:
    """What a later run will find: not what was converted."""
    return [f for f in result.findings if f.kind in KINDS and not (f.kind is Kind.CONVERTED and result.is_written)]


def _key(finding: Finding, result: FileResult, baseline: str) -> Key:
    folder = os.path.dirname(os.path.abspath(baseline))
    file = os.path.relpath(os.path.abspath(finding.path), folder).replace(os.sep, "/")
    return file, finding.code, result.line_of(finding).strip()
