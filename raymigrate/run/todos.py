"""`--todo`: comments in the code at everything that is left for a person.

A run takes the comments of earlier runs away and writes them again, so they go when what they refer to is gone, and are
never there twice. What only the run that converts a file can tell (RM406) has comments that say so: later runs leave
them where they are, and tell what they say, until a person deletes them.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Finding, Kind
from raymigrate.base.options import Options
from raymigrate.comments.skips import RM906
from raymigrate.comments.tokens import Comment, logical_line_from, read_comments
from raymigrate.run.outcome import FileResult, key_of
from raymigrate.run.two_steps import Step

MARK = "TODO(raymigrate): "
ONCE = " (told once: delete this line when it is done)"
TODO = lazy_regex(r"# TODO\(raymigrate\): (?P<code>RM\d{3}) (?P<message>.*)")
LINE = lazy_regex(r"[^\n]*\n|[^\n]+")


def convert_with_todos(text: str, options: Options, convert: Step) -> FileResult:
    """Converts a text, and marks in it what is left for a person.

    Args:
        text: Source text, with or without comments of an earlier run.
        options: What the user asked for.
        convert: Converts it once those are removed.
    """
    options = replace(options, todo=False)
    bare, places = _without_todos(text)
    bare_result = convert(bare, options, True)
    result = replace(bare_result, findings=_with_lines(bare_result.findings, places))
    findings = _with_told_once(text, _moved(result.findings, places), result.path)
    if any(finding.kind is Kind.ERROR for finding in findings):
        return replace(result, before=text, findings=findings, changes=False, after=None)
    first: list[Finding] = []
    if result.after is None:
        # Later runs may say less of a text that stays: a module of a job is looked at because of the job.
        later = convert(bare, options.of_later_runs(), False).findings if result.findings else []
        again = {key_of(finding) for finding in _with_lines(later, places)}
        new, due = bare, [(finding, key_of(finding) in again) for finding in result.findings]
    else:
        first = result.told_first_by_a_later_run()
        new, due = result.after, result.in_new_text()
    _, new_places = _with_todos(new, [*due, *((finding, True) for finding in first)])
    first = _with_lines(first, new_places)  # where the comments stand, these among them
    after, _ = _with_todos(new, [*due, *((finding, True) for finding in first)])
    if after == text:
        return replace(result, before=text, findings=findings, changes=False, after=None, left=[])
    known = bare_result.findings if result.after is None else result.left
    left = _with_told_once(after, _moved(_with_lines(known, new_places), new_places), result.path)
    return replace(result, before=text, findings=findings, changes=True, after=after, left=left)


def _with_lines(findings: Sequence[Finding], places: Sequence[int]) -> list[Finding]:
    """Findings with the lines of their file that they name looked up."""
    return [finding.with_own_lines(lambda line: _place(line, places)) for finding in findings]


def _moved(findings: Sequence[Finding], places: Sequence[int]) -> list[Finding]:
    """Findings with their lines looked up; a place after the last line stays where it is."""
    return [replace(finding, line=_place(finding.line, places)) for finding in findings]


def _place(line: int, places: Sequence[int]) -> int:
    return places[line - 1] if line <= len(places) else line


def _without_todos(text: str) -> tuple[str, list[int]]:
    """The text without the comments that are written again, and for each line of it the line where it is in it."""
    lines = LINE.findall(text)
    gone = {comment.line for comment, todo in _todos(text) if not todo["message"].endswith(ONCE)}
    kept = [number for number in range(1, len(lines) + 1) if number not in gone]
    return "".join(lines[number - 1] for number in kept), kept


def _todos(text: str) -> list[tuple[Comment, re.Match[str]]]:
    """The comments of this kind in a text, with their parts."""
    comments = read_comments(text)[0] if MARK in text else []
    return [(comment, todo) for comment in comments if comment.alone and (todo := TODO.fullmatch(comment.text))]


def said_in_comment(finding: Finding) -> str:
    """What the comment of a finding says of it."""
    return f"{finding.code} {finding.message}"


def _with_told_once(text: str, findings: list[Finding], path: str) -> list[Finding]:
    """Findings, and what comments say besides; a job that is not converted yet is told as before."""
    said = {(finding.code, finding.message) for finding in findings}
    return [*findings, *(once for once in _told_once(text, path) if (once.code, once.message) not in said)]


def _told_once(text: str, path: str) -> list[Finding]:
    """What comments of an earlier run say that no later run can know, each at the statement below it."""
    advice = "Delete the comment when it is done."
    todos = [(comment, todo) for comment, todo in _todos(text) if todo["message"].endswith(ONCE)]
    starts = [logical.first for logical in read_comments(text)[1]] if todos else []
    findings = []
    for comment, todo in todos:
        line = next((start for start in starts if start > comment.line), comment.line)
        message = todo["message"].removesuffix(ONCE)
        findings.append(Finding(todo["code"], Kind.MANUAL, message, advice, line, comment.column, path))
    return findings


def _with_todos(text: str, findings: Sequence[tuple[Finding, bool]]) -> tuple[str, list[int]]:
    """The text with a comment before each statement that a finding refers to, and where its lines are in it then.

    Args:
        findings: What is reported of it, each with whether later runs report it too.
    """
    lines = LINE.findall(text)
    logical_lines = read_comments(text)[1]
    kept = {(once.line, once.code, once.message) for once in _told_once(text, "")}
    todos: dict[int, dict[str, None]] = defaultdict(dict)  # each comment once
    # What is reported once comes first: later runs keep it, and write the others again below it.
    for finding, again in sorted(findings, key=lambda told: (told[1], told[0].line, told[0].column, told[0].code)):
        if finding.kind is Kind.MANUAL and finding.code != RM906.code:
            logical = logical_line_from(logical_lines, finding.line)
            start = logical.first if logical is not None and logical.first <= finding.line else finding.line
            if (start, finding.code, finding.message) in kept:
                continue
            todos[start][f"# {MARK}{said_in_comment(finding)}{'' if again else ONCE}"] = None
    result: list[str] = []
    places: list[int] = []
    for number, line in enumerate(lines, 1):
        indentation = line[: len(line) - len(line.lstrip(" \t\f"))]
        ending = "\r\n" if line.endswith("\r\n") else "\n"
        result += [f"{indentation}{comment}{ending}" for comment in todos.get(number, ())]
        result.append(line)
        places.append(len(result))
    return "".join(result), places
