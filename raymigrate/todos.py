"""`--todo`: comments in the code at everything that is left for a person.

A run takes the comments of earlier runs away and writes them anew, so they go when what they speak of is gone, and are
never there twice. What only the run that converts a file can tell (RM406) is in its findings, not in a comment: a later
run would not see it again, and so could not tell when it is settled.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

from raymigrate.comments import logical_line_from, read_comments
from raymigrate.engine import FileResult
from raymigrate.findings import Finding, Kind
from raymigrate.skips import RM906

MARK = "TODO(raymigrate): "
TODO = re.compile(r"# TODO\(raymigrate\): RM\d{3} ")
LINE = re.compile(r"[^\n]*\n|[^\n]+")


def convert_with_todos(text: str, convert: Callable[[str], FileResult]) -> FileResult:
    """Converts a text, and marks in it what is left for a person.

    Args:
        text: Source text, with or without comments of an earlier run.
        convert: Converts it once those are taken away.
    """
    bare, places = _without_todos(text)
    result = convert(bare)
    findings = _moved(result.findings, places)
    if any(finding.kind is Kind.ERROR for finding in findings):
        return replace(result, before=text, findings=findings, changes=False, after=None)
    new, left = (bare, result.findings) if result.after is None else (result.after, result.left)
    after, new_places = _with_todos(new, left)
    if after == text:
        return replace(result, before=text, findings=findings, changes=False, after=None, left=[])
    left = _moved(left, new_places)
    return replace(result, before=text, findings=findings, changes=True, after=after, left=left)


def _moved(findings: Sequence[Finding], places: Sequence[int]) -> list[Finding]:
    """Findings with their lines looked up; a place behind the last line stays where it is."""
    return [
        replace(finding, line=places[finding.line - 1]) if finding.line <= len(places) else finding
        for finding in findings
    ]


def _without_todos(text: str) -> tuple[str, list[int]]:
    """The text without such comments, and for each line of it the line where it stands in the text."""
    lines = LINE.findall(text)
    comments = read_comments(text)[0] if MARK in text else []
    gone = {comment.line for comment in comments if comment.alone and TODO.match(comment.text)}
    kept = [number for number in range(1, len(lines) + 1) if number not in gone]
    return "".join(lines[number - 1] for number in kept), kept


def _with_todos(text: str, findings: Sequence[Finding]) -> tuple[str, list[int]]:
    """The text with a comment before each statement that a finding speaks of, and where its lines stand in it then."""
    lines = LINE.findall(text)
    logical_lines = read_comments(text)[1]
    todos: dict[int, dict[str, None]] = defaultdict(dict)  # each comment once
    for finding in sorted(findings, key=lambda finding: (finding.line, finding.column, finding.code)):
        if finding.kind is Kind.MANUAL and finding.code != RM906.code:
            logical = logical_line_from(logical_lines, finding.line)
            start = logical.first if logical is not None and logical.first <= finding.line else finding.line
            todos[start][f"# {MARK}{finding.code} {finding.message}"] = None
    result: list[str] = []
    places: list[int] = []
    for number, line in enumerate(lines, 1):
        indentation = line[: len(line) - len(line.lstrip(" \t\f"))]
        ending = "\r\n" if line.endswith("\r\n") else "\n"
        result += [f"{indentation}{comment}{ending}" for comment in todos.get(number, ())]
        result.append(line)
        places.append(len(result))
    return "".join(result), places
