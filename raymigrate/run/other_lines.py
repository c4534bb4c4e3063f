"""The lines that messages name: where those stand once the run has written the files."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from raymigrate.base.findings import NAMED_LINE, Finding, lines_named, words_of_lines
from raymigrate.documents.line_changes import moved_lines
from raymigrate.run.outcome import FileResult
from raymigrate.run.todos import MARK, ONCE, said_in_comment

OfFile = Callable[[Sequence[int]], str]  # gives the words for lines of a file


def settle_todos(results: dict[str, FileResult], leads_out: Callable[[str], bool] = lambda path: False) -> None:
    """Lets new texts name, in the comments that are left for a person, the lines that files will have.

    Args:
        results: What became of the files of a run, by path, before they are written.
        leads_out: Tells of a path whether it leads to where nothing may be written: such a file keeps its lines.
    """
    lines = {
        path: _lines(result, new=result.after is not None and not leads_out(path)) for path, result in results.items()
    }
    results.update({path: _with_todos_settled(result, lines) for path, result in results.items()})


def with_lines_settled(results: Sequence[FileResult]) -> list[FileResult]:
    """Results whose messages name the lines of files as these are now.

    Args:
        results: What became of the files of a run, once those are written that the run writes.
    """
    lines = {result.path: _lines(result, new=result.is_written and not result.is_new) for result in results}
    return [
        replace(result, findings=[_settled(finding, lines[result.path], lines) for finding in result.findings])
        if any(finding.templates for finding in result.findings)
        else result
        for result in results
    ]


def _lines(result: FileResult, *, new: bool, moved_already: bool = False) -> OfFile:
    """Gives the words for lines of a file, where those are in the new text or in the old one.

    Args:
        result: What became of the file.
        new: Whether the new text counts.
        moved_already: Whether the lines are those of the new text, and not of the file as it was read.
    """

    @cache  # few files are named by others
    def moved() -> Callable[[int], int]:
        return moved_lines(result.before, result.after or "") if new and not moved_already else int

    def words(lines: Sequence[int]) -> str:
        document = (result.rewritten if new else None) or result.document
        now = [moved()(line) for line in lines]
        places = [document.place(line, 1)[:2] for line in now] if document is not None else []
        if any(cell for cell, _ in places):
            return "; ".join(f"cell {cell}, line {line}" for cell, line in places)
        return words_of_lines([line for _, line in places] or now)

    return words


def _settled(finding: Finding, own: OfFile, lines: Mapping[str, OfFile]) -> Finding:
    """A finding with the lines that it names as they are now.

    Args:
        own: Gives the words for lines of its own file.
        lines: Gives those for lines of files, by path.
    """
    if not finding.templates:
        return finding

    def now(found: re.Match[str]) -> str:
        of_file = lines.get(found[2], words_of_lines) if found[2] else own
        return of_file(lines_named(found))

    message, advice = (NAMED_LINE.sub(now, text) for text in finding.templates)
    return replace(finding, message=message, advice=advice)


def _with_todos_settled(result: FileResult, lines: Mapping[str, OfFile]) -> FileResult:
    text = result.before if result.after is None else result.after
    there = _lines(result, new=result.after is not None, moved_already=True)
    known = {
        said_in_comment(finding): said_in_comment(_settled(finding, own, lines))
        for own, findings in ((there, result.left), (lines[result.path], result.findings))
        for finding in findings
        if finding.templates
    }
    if not known or MARK not in text:
        return result

    def settled(line: str) -> str:
        said = line.partition(MARK)[2].strip().removesuffix(ONCE)
        return line.replace(said, known[said]) if said in known else line

    new = "".join(settled(line) for line in text.splitlines(keepends=True))
    if new == result.before:
        return replace(result, changes=False, after=None, left=[])
    return result if new == text else replace(result, changes=True, after=new, left=result.left or result.findings)
