"""The lines of other files that messages name: where those stand once the run has written these files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from raymigrate.documents import Plain
from raymigrate.documents.line_changes import moved_lines
from raymigrate.run.outcome import FileResult
from raymigrate.run.todos import MARK

Moved = Mapping[str, Callable[[int], int]]
LINE_OF = re.compile(r"\bline (\d+) of ")
LINE_BEHIND = re.compile(r" \(line (\d+)\)")
PATH_GOES_ON = re.compile(r"\.?[\w/-]")


def with_todos_settled(results: Sequence[FileResult]) -> list[FileResult]:
    """Results whose new texts name, in the comments that are left for a person, the lines that other files will have.

    Args:
        results: What became of the files of a run, before they are written.
    """
    new = [result for result in results if result.after is not None and isinstance(result.document, Plain)]
    texts = {result.path: result.after or "" for result in new if MARK in (result.after or "")}
    if not any(LINE_OF.search(text) or LINE_BEHIND.search(text) for text in texts.values()):
        return list(results)
    moved = _moved(new)
    settled = {
        path: "".join(
            _in_new_files(line, moved, path) if MARK in line else line for line in text.splitlines(keepends=True)
        )
        for path, text in texts.items()
    }
    return [replace(result, after=settled.get(result.path, result.after)) for result in results]


def in_written_files(results: Sequence[FileResult]) -> list[FileResult]:
    """Results whose messages name the lines of other files as those were written.

    Args:
        results: What became of the files of a run, once they are written.
    """
    moved = _moved(result for result in results if result.is_written and not result.is_new)
    return [_settled(result, moved) for result in results] if moved else list(results)


def _moved(results: Iterable[FileResult]) -> Moved:
    """Tells for each file that gets a new text where its lines are in that."""
    return {result.path: _once(result.before, result.after) for result in results if result.after is not None}


def _once(before: str, after: str) -> Callable[[int], int]:
    known: list[Callable[[int], int]] = []

    def moved(line: int) -> int:
        if not known:  # few files are named by others
            known.append(moved_lines(before, after))
        return known[0](line)

    return moved


def _settled(result: FileResult, moved: Moved) -> FileResult:
    findings = [
        replace(
            finding,
            message=_in_new_files(finding.message, moved, result.path),
            advice=_in_new_files(finding.advice, moved, result.path),
        )
        if "line " in finding.message or "line " in finding.advice
        else finding
        for finding in result.findings
    ]
    return replace(result, findings=findings)


def _in_new_files(text: str, moved: Moved, own: str) -> str:
    """A message with the lines of other files as these are now: `line 3 of jobs/a.py`, `jobs/a.py (line 3)`."""

    def before_path(found: re.Match[str]) -> str:
        path = _longest(path for path in moved if _starts_with(text[found.end() :], path))
        return f"line {moved[path](int(found[1]))} of " if path and path != own else found[0]

    def behind_path(found: re.Match[str]) -> str:
        words = text[: found.start()].partition(" takes ")[0]
        path = _longest(path for path in moved if words.endswith(path) and not words[: -len(path)][-1:].strip("( "))
        return f" (line {moved[path](int(found[1]))})" if path and path != own else found[0]

    text = LINE_OF.sub(before_path, text)
    return LINE_BEHIND.sub(behind_path, text)


def _longest(paths: Iterable[str]) -> str:
    return max(paths, key=len, default="")


def _starts_with(text: str, path: str) -> bool:
    return text.startswith(path) and not PATH_GOES_ON.match(text, len(path))
