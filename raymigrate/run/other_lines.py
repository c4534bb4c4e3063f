"""The lines of other files that messages name: where those stand once the run has written these files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from raymigrate.base.findings import NAMED_LINE, Finding
from raymigrate.documents.line_changes import moved_lines
from raymigrate.run.outcome import FileResult
from raymigrate.run.todos import MARK, ONCE, said_in_comment

Lines = Mapping[str, Callable[[int], str]]


def settle_todos(results: dict[str, FileResult], paths: Iterable[str]) -> None:
    """Lets new texts name, in the comments that are left for a person, the lines that other files will have.

    Args:
        results: What became of the files of a run, by path, before they are written.
        paths: The files whose comments are looked at.
    """
    lines = {path: _lines(result, new=result.after is not None) for path, result in results.items()}
    results.update({path: _with_todos_settled(results[path], lines) for path in paths})


def with_lines_settled(results: Sequence[FileResult]) -> list[FileResult]:
    """Results whose messages name the lines of other files as these are now.

    Args:
        results: What became of the files of a run, once those are written that the run writes.
    """
    lines = {result.path: _lines(result, new=result.is_written and not result.is_new) for result in results}
    return [
        replace(result, findings=[_settled(finding, lines) for finding in result.findings])
        if any(finding.templates for finding in result.findings)
        else result
        for result in results
    ]


def _lines(result: FileResult, *, new: bool) -> Callable[[int], str]:
    """Gives the words for a line of a file as it was read, where that line is in the new text or in the old one."""

    @cache  # few files are named by others
    def moved() -> Callable[[int], int]:
        return moved_lines(result.before, result.after or "") if new else int

    def words(line: int) -> str:
        document = (result.rewritten if new else None) or result.document
        cell, there, _ = (0, moved()(line), 1) if document is None else document.place(moved()(line), 1)
        return f"cell {cell}, line {there}" if cell else f"line {there}"

    return words


def _settled(finding: Finding, lines: Lines) -> Finding:
    """A finding with the lines that it names as they are now."""
    if not finding.templates:
        return finding
    message, advice = (
        NAMED_LINE.sub(lambda found: lines[found[2]](int(found[1])) if found[2] in lines else f"line {found[1]}", text)
        for text in finding.templates
    )
    return replace(finding, message=message, advice=advice)


def _with_todos_settled(result: FileResult, lines: Lines) -> FileResult:
    named = [finding for finding in (*result.findings, *result.left) if finding.templates]
    text = result.before if result.after is None else result.after
    if not named or MARK not in text:
        return result
    known = {said_in_comment(finding): said_in_comment(_settled(finding, lines)) for finding in named}

    def settled(line: str) -> str:
        said = line.partition(MARK)[2].strip().removesuffix(ONCE)
        return line.replace(said, known[said]) if said in known else line

    new = "".join(settled(line) for line in text.splitlines(keepends=True))
    if new == result.before:
        return replace(result, changes=False, after=None, left=[])
    return result if new == text else replace(result, changes=True, after=new, left=result.left or result.findings)
