"""One file's way through the tool: gates, facts, codemods, rewriting, and the check of the result."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from raymigrate.base.findings import Finding, Kind, Rule
from raymigrate.base.options import Options
from raymigrate.comments.skips import RM906, skipped_whole
from raymigrate.files.discovery import PAGES, SUFFIXES

if TYPE_CHECKING:
    from raymigrate.codemods.context import Context
    from raymigrate.documents import Document
    from raymigrate.facts.module import Module
    from raymigrate.facts.project import Project
    from raymigrate.facts.requests import Request

# Beyond this depth of an expression LibCST needs minutes or overflows its stack.
MAX_DEPTH = 300
# The trees of the text and of the result take 1.7 kB of memory for each node: half a GB for these, 50,000 lines.
MAX_NODES = 300_000
LONE_RETURN = re.compile(r"\r(?!\n)")
LONE_RETURNS = "ends lines with a carriage return alone, as old Macs did; save it with line feeds."

RM901 = Rule(
    "RM901",
    "a file that is not Python as it stands",
    "The file cannot be parsed by the Python that runs raymigrate.",
    "Correct the file, or exclude it with --exclude.",
    "https://docs.python.org/3/reference/",
)
RM902 = Rule(
    "RM902",
    "a file that cannot be read or written",
    "The file, or one named on the command line, cannot be read, decoded or written.",
    "See the message.",
    "https://docs.python.org/3/reference/lexical_analysis.html#encoding-declarations",
)
RM903 = Rule(
    "RM903",
    "a conversion that was not safe to write",
    "The result failed one of the checks made on every file, so the file is left as it was.",
    "Please report it with the file.",
    "https://docs.python.org/3/",
)
RM908 = Rule(
    "RM908",
    "a file of the job outside the paths that were given",
    "A script that is converted imports the file, or a link in a folder that was given leads to it. It has to change as"
    " well: until then the job fails on current libraries, or does not train as before.",
    "Name the folder of the project on the command line, or the file too.",
    "https://docs.ray.io/en/latest/train/user-guides.html",
)
RULES = (RM901, RM902, RM903, RM906, RM908)


@dataclass
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
        waits: Whether the file cannot be converted without reading others: nothing was done yet.
        is_written: Whether the new text is in the file.
        told_once: How many findings that are left for a person no later run can tell.
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
    waits: bool = False
    is_written: bool = False
    told_once: int = 0

    @property
    def old_bytes(self) -> bytes:
        """What the file held when it was read."""
        assert self.document is not None
        return self.document.encode(self.before)

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

    def in_new_text(self) -> list[tuple[Finding, bool]]:
        """The findings with their places in the new text, and whether a later run would tell them too.

        A later run need not know all of them: how often something was logged, say, can be read from the old code only.
        """
        from raymigrate.documents.line_changes import moved_lines  # noqa: PLC0415 - only after a change

        assert self.after is not None
        moved = moved_lines(self.before, self.after)
        placed = []
        for finding, match in zip(self.findings, _told_again(self.findings, self.left, moved), strict=True):
            if match is not None:
                placed.append((replace(finding, line=match.line, column=match.column), True))
            else:
                placed.append((replace(finding, line=moved(finding.line)), False))
        return placed

    def written(self) -> FileResult:
        """The same result once the new text is in the file: its findings have their places in that."""
        if self.after is None:
            return self
        placed = self.in_new_text()
        told_once = sum(finding.kind is Kind.MANUAL and not again for finding, again in placed)
        findings = _sorted([finding for finding, _ in placed])
        return replace(self, findings=findings, told_once=told_once, places=self.rewritten, is_written=True)

    def without_stale(self, lines: Collection[int]) -> FileResult:
        """The same result less what calls the comments on these lines stale, as they silence what was found later."""
        if not lines:
            return self
        from raymigrate.documents.line_changes import moved_lines  # noqa: PLC0415 - only after a change

        moved = moved_lines(self.before, self.before if self.after is None else self.after)
        new_lines = {moved(line) for line in lines}
        findings = [finding for finding in self.findings if finding.code != RM906.code or finding.line not in lines]
        left = [finding for finding in self.left if finding.code != RM906.code or finding.line not in new_lines]
        return replace(self, findings=findings, left=left)

    def with_findings(self, findings: list[Finding]) -> FileResult:
        """The same result with other findings, which are sorted by place."""
        return replace(self, findings=_sorted(findings))

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
        return replace(self, findings=_sorted(findings))


def _sorted(findings: list[Finding]) -> list[Finding]:
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
        by_line = there.setdefault((finding.code, finding.kind, finding.message), {})
        by_line.setdefault(finding.line, []).append(finding)
    matches: list[Finding | None] = []
    for finding in findings:
        same = there.get((finding.code, finding.kind, finding.message), {}).get(moved(finding.line))
        matches.append(same.pop() if same else None)
    rest = {
        key: [finding for line in sorted(lines, reverse=True) for finding in lines[line]]
        for key, lines in there.items()
    }
    for index, finding in enumerate(findings):
        if matches[index] is None and (others := rest.get((finding.code, finding.kind, finding.message))):
            matches[index] = others.pop()
    return matches


class Refused(Exception):
    """The text cannot be worked on; the message says why."""

    def __init__(self, rule: Rule, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.finding = Finding(rule.code, Kind.ERROR, message, rule.fix, line, column)


def convert(
    text: str,
    path: str = "",
    options: Options | None = None,
    *,
    rewrite: bool = True,
    project: Project | None = None,
    settle: Callable[[str], str] = str,
) -> FileResult:
    """Converts one module.

    Args:
        text: Source text.
        path: Its file; configuration files that the script names are looked up beside it.
        options: What the user asked for.
        rewrite: False to look only: `after` stays None where something would change. LibCST is not imported.
        project: The other files of the project; None: nothing is looked up in them.
        settle: Gives the form that a new text takes in its file. Raises Refused if the file cannot hold it.

    Returns:
        The findings and the new text. Text that cannot be parsed gives one finding of kind ERROR.
    """
    options = options or Options()
    if options.todo and rewrite:
        from raymigrate.run.todos import convert_with_todos  # noqa: PLC0415 - only where it is asked for

        bare_options = replace(options, todo=False)
        result = convert_with_todos(
            text, lambda bare: convert(bare, path, bare_options, project=project, settle=settle)
        )
        try:
            if result.after is not None:
                settle(result.after)
        except Refused as refused:
            return FileResult(path, [replace(refused.finding, path=path)], text)
        return result
    try:
        context = plan(text, path, options, project)
        after: str | None = None
        left: list[Finding] = []
        changes = bool(context.plan)
        if changes and rewrite:
            after, left = _checked(context, options, settle)
    except Refused as refused:
        finding = replace(refused.finding, path=path)
        if skip := skipped_whole(text, finding.code):
            finding = finding.skipped(skip.reason)
        return FileResult(path, [finding], text)
    findings = _sorted(context.findings)
    return FileResult(path, findings, text, changes, after, left, asked=context.asked, done=context.done)


def plan(text: str, path: str, options: Options, project: Project | None = None, *, again: bool = False) -> Context:
    """Runs the codemods over a text: findings and planned edits.

    Args:
        text: The text.
        path: Its file.
        options: What the user asked for.
        project: The other files of the project.
        again: Whether the text is a result, and not what the file held.

    Raises:
        Refused: If the text is not Python, or nested too deeply for LibCST.
    """
    from raymigrate.codemods import codemods_for  # noqa: PLC0415 - most runs never get here
    from raymigrate.codemods.context import Context  # noqa: PLC0415
    from raymigrate.codemods.shared.import_cleanup import drop_unused_imports  # noqa: PLC0415
    from raymigrate.facts.module import Module  # noqa: PLC0415

    try:
        module = Module(text, path, project) if again or project is None else project.module_of(text, path)
    except SyntaxError as error:
        what = "cannot be parsed"
        if not may_be_python(path):
            what = f"is not a file that raymigrate converts, and {what}"
        raise Refused(RM901, f"{what}: {error.msg}.", error.lineno or 1, error.offset or 1) from error
    except (RecursionError, MemoryError, ValueError) as error:
        raise Refused(RM901, f"cannot be parsed: {str(error) or 'it is nested too deeply'}.") from error
    context = Context(module, options, path)
    for item in codemods_for(options):
        item(context)
    if options.enabled(RM906.code):
        context.findings += context.skips.stale(path)
    if context.plan:
        _refuse_unfit(context)
        drop_unused_imports(context)
    return context


def may_be_python(path: str) -> bool:
    """Whether the name of a file does not say that it is something else."""
    return PurePath(path).suffix.lower() in ("", ".py", ".pyw", ".pyi", *SUFFIXES, *PAGES)


def _refuse_unfit(context: Context) -> None:
    """Refuses what Python reads and LibCST does not."""
    from raymigrate.edits.stand_ins import fits_libcst  # noqa: PLC0415 - only before a change
    from raymigrate.facts.nesting import nesting  # noqa: PLC0415

    module = context.module
    if "\r" in module.text and "\n" not in module.text:
        raise Refused(RM901, LONE_RETURNS)
    if len(module.nodes) > MAX_NODES or not fits_libcst(module, context.plan):
        lines = module.text.count("\n")
        raise Refused(RM901, f"has too much code to be rewritten, {lines} lines: it would take gigabytes of memory.")
    if nesting(module, MAX_DEPTH) > MAX_DEPTH:
        raise Refused(RM901, f"nests more than {MAX_DEPTH} levels deep, too deep to be rewritten safely.")


def _checked(context: Context, options: Options, settle: Callable[[str], str]) -> tuple[str, list[Finding]]:
    """Rewrites, and proves of the result that it parses, that every name is bound when it is read as far as it was
    before, and that a second run would not change it.

    Returns:
        The new text, and what a second run says of it.
    """
    from raymigrate.edits.rewriter import RewriteError, rewrite  # noqa: PLC0415 - imports LibCST

    try:
        after = settle(rewrite(context.module, context.plan))
    except RewriteError as error:
        if LONE_RETURN.search(context.module.text):
            raise Refused(RM901, LONE_RETURNS) from error
        raise Refused(RM903, f"left as it was: {error}.") from error
    try:
        again = plan(after, context.path, options, context.module.project, again=True)
    except Refused as refused:
        raise Refused(RM903, f"left as it was: the result {refused}") from refused
    if again.plan:
        codes = ", ".join(sorted({finding.code for finding in again.findings if finding.kind is Kind.CONVERTED}))
        raise Refused(RM903, f"left as it was: a second run would change it again ({codes}).")
    if read_too_early := _newly_unbound(context.module, again.module):
        raise Refused(RM903, f"left as it was: the result would read {read_too_early} before it is bound.")
    return after, again.findings


def _newly_unbound(before: Module, after: Module) -> str:
    """The names that a result reads before anything binds them, and that the text did not read so."""
    from raymigrate.facts.execution import unbound_names  # noqa: PLC0415 - only after a change

    found = {node.id for node in unbound_names(after)}
    found -= {node.id for node in unbound_names(before)} if found else set()
    return ", ".join(f"`{name}`" for name in sorted(found))
