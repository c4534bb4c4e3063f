"""What came of a run: of each file, of each job of several files, of all of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from raymigrate.base.findings import Finding, Kind
from raymigrate.base.options import ACCELERATE_LAUNCH, nothing_found
from raymigrate.comments.skips import RM906
from raymigrate.documents import Plain
from raymigrate.documents.line_changes import moved_lines

if TYPE_CHECKING:
    from raymigrate.documents import Document
    from raymigrate.facts.projects.helpers import Helper
    from raymigrate.facts.projects.requests import Request


Key = tuple[str, str, int, int]


@lru_cache(maxsize=2)
def _lines(text: str) -> list[str]:
    """The lines of a text, which may have thousands of findings, one after the other."""
    return text.split("\n")


def _line(text: str, number: int) -> str:
    """One of the lines, counted from 1; empty where there is none."""
    lines = _lines(text)
    return lines[number - 1] if number <= len(lines) else ""


def key_of(finding: Finding) -> Key:
    """What a finding says, and where."""
    return finding.code, finding.message, finding.line, finding.column


@dataclass(slots=True)
class FileResult:
    """What became of one file.

    Args:
        path: The file, as the user named it.
        findings: Sorted by place in the text as it was read.
        before: Text as read.
        changes: Whether the file changes.
        after: Its new text, which may be empty; None if nothing changes, or if the new text was not worked out.
        left: What a second run says of the new text.
        document: How the text is stored in the file; None for text without a file.
        rewritten: The document as it is with the new text; None if nothing changes.
        places: The document in which the findings have their places; by default `document`.
        asked: What this result asks of other files.
        done: What other files asked of this one.
        helpers: The classes and functions that its new code uses.
        waits: Whether the file cannot be converted without reading others: nothing was done yet.
        is_new: Whether there is no such file yet.
        is_written: Whether the new text is in the file.
        new_places: The line and column in the new text of findings about code that the old one lacks, by `key_of`.
        told_once: How many findings that are left for a person no later run can tell.
        is_legacy: Whether it is legacy code, also where only rules say so that the user left out.
        shows_gpu: Whether a native loop that goes to accelerate runs on GPUs, by what its script says.
        launcher: What may have started the script in several processes; "" for nothing.
    """

    path: str
    findings: list[Finding] = field(default_factory=list)
    before: str = ""
    changes: bool = False
    after: str | None = None
    left: list[Finding] = field(default_factory=list)
    document: Document | None = None
    rewritten: Document | None = None
    places: Document | None = None
    asked: list[Request] = field(default_factory=list)
    done: list[Request] = field(default_factory=list)
    helpers: list[Helper] = field(default_factory=list)
    waits: bool = False
    is_new: bool = False
    is_written: bool = False
    new_places: dict[Key, tuple[int, int]] = field(default_factory=dict)
    told_once: int = 0
    is_legacy: bool = False
    shows_gpu: bool = False
    launcher: str = ACCELERATE_LAUNCH

    @property
    def old_bytes(self) -> bytes:
        """What the file held when it was read."""
        assert self.document is not None
        return self.document.encode(self.before)

    @property
    def has_error(self) -> bool:
        """Whether something could not be done."""
        return any(finding.kind is Kind.ERROR for finding in self.findings)

    @property
    def is_shown(self) -> bool:
        """Whether a summary names the file: it changes, or there is something to say of it or of its document."""
        return self.changes or bool(self.findings) or bool(self.document is not None and self.document.remarks)

    @property
    def new_bytes(self) -> bytes:
        """What the file holds with the new text."""
        document = self.rewritten or self.document
        assert document is not None and self.after is not None
        return document.encode(self.after)

    def line_of(self, finding: Finding) -> str:
        """The line of a finding that has its place as readers see it (`in_cells`); empty if there is none."""

        document = self.places or self.document
        if document is None or isinstance(document, Plain):
            return _line(self.after if self.is_written and self.after is not None else self.before, finding.line)
        lines = document.lines_of(finding.cell)
        return lines[finding.line - 1] if finding.line <= len(lines) else ""

    def in_new_text(self) -> list[tuple[Finding, bool]]:
        """The findings with their places in the new text, and whether a later run would tell them too.

        A later run need not know all of them: how often something was logged, say, can be read from the old code only.
        """
        moved, matches = self._told_again()
        placed = []
        for finding, match in zip(self.findings, matches, strict=True):
            if match is not None:
                placed.append((replace(finding, line=match.line, column=match.column), True))
            elif (place := self.new_places.get(key_of(finding))) is not None:
                placed.append((replace(finding, line=place[0], column=place[1]), False))
            else:
                placed.append((self._moved(finding, moved(finding.line)), False))
        return placed

    def _moved(self, finding: Finding, line: int) -> Finding:
        """A finding on another line of the new text; where it is the same code, the column is as well."""
        assert self.after is not None
        old, new = _line(self.before, finding.line), _line(self.after, line)
        same = old.strip() == new.strip()
        shift = len(new) - len(new.lstrip()) - (len(old) - len(old.lstrip())) if same else 0
        return replace(finding, line=line, column=max(1, finding.column + shift))

    def told_first_by_a_later_run(self) -> list[Finding]:
        """What a second run says of the new text and this one does not, as objects are of other classes there."""
        _, matches = self._told_again()
        told = {id(match) for match in matches}
        return [finding for finding in self.left if id(finding) not in told]

    def _told_again(self) -> tuple[Callable[[int], int], list[Finding | None]]:
        """Where each line is in the new text, and what a second run says there in the place of each finding."""

        assert self.after is not None
        moved = moved_lines(self.before, self.after)
        return moved, _told_again(self.findings, self.left, moved)

    def written(self) -> FileResult:
        """The same result once the new text is in the file: its findings have their places in that."""
        if self.after is None:
            return self
        if self.is_new:
            return replace(self, is_written=True)
        placed = self.in_new_text()
        told_once = self.told_once + sum(finding.kind is Kind.MANUAL and not again for finding, again in placed)
        findings = by_place([finding for finding, _ in placed])
        return replace(self, findings=findings, told_once=told_once, places=self.rewritten, is_written=True)

    def without_stale(self, lines: Collection[int]) -> FileResult:
        """The same result less what calls the comments on these lines stale, as they silence what was found later."""
        if not lines:
            return self

        moved = moved_lines(self.before, self.before if self.after is None else self.after)
        new_lines = {moved(line) for line in lines}
        findings = [finding for finding in self.findings if finding.code != RM906.code or finding.line not in lines]
        left = [finding for finding in self.left if finding.code != RM906.code or finding.line not in new_lines]
        return replace(self, findings=findings, left=left)

    def with_findings(self, findings: list[Finding]) -> FileResult:
        """The same result with other findings, which are sorted by place."""
        return replace(self, findings=by_place(findings))

    def with_told(self, other: FileResult) -> FileResult:
        """The same result with what another one says of the file too; what cells write is told where they are."""
        for document in (self.document, self.rewritten):
            if document is not None and other.document is not None:
                document.remarks = [*dict.fromkeys([*document.remarks, *other.document.remarks])]
        return self.with_findings([*dict.fromkeys([*self.findings, *other.findings])])

    def in_cells(self) -> FileResult:
        """The same result with the findings where a reader of the file sees them: in a notebook by cell."""
        document = self.places or self.document
        if document is None:
            return self
        findings = []
        for finding in self.findings:
            cell, line, column = document.place(finding.line, finding.column)
            findings.append(replace(finding, cell=cell, line=line, column=column))
        findings += [replace(remark, path=self.path) for remark in document.remarks]
        return replace(self, findings=by_place(findings))


@dataclass(frozen=True)
class ProjectSummary:
    """A job of several files, as far as they import each other.

    Args:
        folder: Their common folder.
        read: Files of the job.
        converted: Those that change.
        left: Those in which something is left for a person.
        outside: Those outside the paths that were given.
    """

    folder: str
    read: int
    converted: int
    left: int
    outside: int


@dataclass
class Summary:
    """What a run found and did.

    Args:
        results: Files with findings or changes, in path order.
        scanned: Number of files looked at.
        pages: How many of those with a word of Ray in them are pages, of which only the code blocks are read.
        projects: Jobs of several files.
        together: Paths of files that change together or not at all.
        known: Number of findings that a baseline knows, and that are not among those of the results.
        nothing: What is said where nothing is found.
    """

    results: list[FileResult] = field(default_factory=list)
    scanned: int = 0
    pages: int = 0
    projects: list[ProjectSummary] = field(default_factory=list)
    together: list[list[str]] = field(default_factory=list)
    known: int = 0
    nothing: str = field(default_factory=nothing_found)

    @property
    def findings(self) -> Iterator[Finding]:
        """All findings, by file and place."""
        return (finding for result in self.results for finding in result.findings)

    @property
    def changed(self) -> list[FileResult]:
        """Results of files that change."""
        return [result for result in self.results if result.changes]

    def exit_code(self, *, dry_run: bool) -> int:
        """The exit code: 2 if something could not be done, 1 if something is left to do, else 0."""
        kinds = {finding.kind for finding in self.findings}
        if Kind.ERROR in kinds:
            return 2
        return int(Kind.MANUAL in kinds or Kind.UNSAFE in kinds or (dry_run and bool(self.changed)))


def codes_of(findings: Iterable[Finding]) -> str:
    """The codes of findings, as a message names them."""
    return ", ".join(sorted({finding.code for finding in findings}))


def joined(sets: Iterable[set[str]]) -> list[set[str]]:
    """Sets, with those united that share something."""
    groups: list[set[str]] = []
    for group in sets:
        shared = [other for other in groups if not group.isdisjoint(other)]
        groups = [other for other in groups if other not in shared] + [group.union(*shared)]
    return groups


def by_place(findings: list[Finding]) -> list[Finding]:
    """Findings in the order of their places."""
    return sorted(findings, key=lambda finding: (finding.cell, finding.line, finding.column, finding.code))


def _told_again(
    findings: Sequence[Finding], left: Sequence[Finding], moved: Callable[[int], int]
) -> list[Finding | None]:
    """What a second run says in the place of each finding: on the line where it stands now, else in their order.

    Args:
        findings: What was found in the old text.
        left: What a second run finds in the new one.
        moved: Tells where a line of the old text is in the new one.
    """
    there: dict[tuple[str, Kind, str], dict[int, list[Finding]]] = {}
    for finding in reversed(left):
        by_line = there.setdefault((finding.code, finding.kind, finding.words), {})
        by_line.setdefault(finding.line, []).append(finding)
    matches: list[Finding | None] = []
    for finding in findings:
        same = there.get((finding.code, finding.kind, finding.words), {}).get(moved(finding.line))
        matches.append(same.pop() if same else None)
    rest = {
        key: [finding for line in sorted(lines, reverse=True) for finding in lines[line]]
        for key, lines in there.items()
    }
    for index, finding in enumerate(findings):
        if matches[index] is None and (others := rest.get((finding.code, finding.kind, finding.words))):
            matches[index] = others.pop()
    return matches
