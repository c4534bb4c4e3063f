"""One document's way through the engine: its text is converted, and has to fit into the file again."""

import traceback
from dataclasses import replace
from pathlib import Path

from raymigrate.base.findings import Finding, Kind, Rule
from raymigrate.base.options import Options
from raymigrate.documents import Document, NotSplit, Plain, edited, reopened
from raymigrate.documents.remarks import RM731, RM901, pin_remark
from raymigrate.facts.projects.project import Project
from raymigrate.facts.syntax.literals import shortened_text
from raymigrate.run.cell_comments import CellComments
from raymigrate.run.cell_expressions import with_expressions_told
from raymigrate.run.cell_files import knowing_scripts, with_scripts_converted
from raymigrate.run.cell_folders import with_folders_told
from raymigrate.run.cell_packages import with_needed_packages
from raymigrate.run.cell_texts import with_texts_told
from raymigrate.run.engine import Refused, convert
from raymigrate.run.environment_variables import with_variables
from raymigrate.run.file_rules import RM902, RM903
from raymigrate.run.outcome import FileResult

PACKAGE = Path(__file__).parent.parent


def failed(path: str, message: str, line: int = 1, column: int = 1) -> FileResult:
    """The result of a file that could not be read or written."""
    return FileResult(path, [Finding(RM902.code, Kind.ERROR, message, "", line, column, path)])


def broken(path: str, error: Exception) -> FileResult:
    """The result of a file whose conversion raised what it should not."""
    if isinstance(error, (RecursionError, MemoryError)):
        what = "is nested too deeply" if isinstance(error, RecursionError) else "takes too much memory"
        return left(path, RM901, f"left as it was: it {what} to be converted safely.")

    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if PACKAGE in Path(frame.filename).parents]
    place = f", {Path(frames[-1].filename).relative_to(PACKAGE).as_posix()}:{frames[-1].lineno}" if frames else ""
    return left(path, RM903, f"left as it was: raymigrate met an error of its own ({_first_line(error)}{place}).")


def crashed(path: str, how: str = "") -> FileResult:
    """The result of a file whose conversion ended the process, by a signal such as "SIGSEGV" if that is known."""
    cause = f" ({how})" if how else ""
    return left(path, RM903, f"left as it was: the process that converted it ended before it was done{cause}.")


def left(path: str, rule: Rule, message: str, text: str = "") -> FileResult:
    """The result of a file that stays as it is, whose text may be known."""
    return FileResult(path, [Finding(rule.code, Kind.ERROR, message, rule.fix, path=path)], text)


def _first_line(error: Exception) -> str:
    try:
        text = f"{type(error).__name__}: {error}".strip()
    except Exception:  # as LibCST's for an empty text, of which it cannot show the line
        text = type(error).__name__
    return shortened_text(text.partition("\n")[0])


def convert_document(
    document: Document, path: str, options: Options, *, rewrite: bool = True, project: Project | None = None
) -> FileResult:
    """Converts what a file holds.

    Args:
        document: The file as it was opened.
        path: Its name.
        options: What the user asked for.
        rewrite: See `engine.convert`.
        project: See `engine.convert`.

    Returns:
        The result, with places in the text of the document; `FileResult.in_cells` gives those in the file.
    """
    comments = _heed(document, options)
    refusals = [replace(remark, path=path) for remark in document.remarks if remark.code == RM901.code]
    if refusals:
        return FileResult(path, refusals, document.text)
    if isinstance(document, Plain):
        result = convert(document.text, path, options, rewrite=rewrite, project=project)
        result.document = result.rewritten = document
        return result
    if document.written:
        options = replace(options, cell_settings=tuple(document.written.items()))
    rewritten: list[Document] = []

    def settle(text: str) -> str:
        try:
            rewritten[:] = [reopened(document, text, path)]
        except NotSplit as error:
            raise Refused(RM903, f"left as it was: {error}.") from error
        return rewritten[0].text

    knowing = knowing_scripts(options, document, path)
    result = convert(document.text, path, knowing, rewrite=rewrite, project=project, settle=settle)
    result.document = document
    result.findings = comments.without_stale(result.findings)
    if result.after is not None and rewritten:
        result.rewritten = rewritten[0]
        result.left = _heed(rewritten[0], options).without_stale(result.left)
    if result.has_error:
        return result
    if options.unsafe and options.enabled(RM731.code):
        result = _with_versions_raised(result, document, path, options, rewrite=rewrite)
    if document.scripts:
        if result.after is None:  # a later run finds the scripts converted
            later = knowing.cell_scripts and convert(document.text, path, options, rewrite=False, project=project)
            result.left = (later or result).findings
        result = with_scripts_converted(result, document, path, options, rewrite=rewrite)
    if document.cells_with_commands:
        result = with_needed_packages(result, document, path, options)
        result = with_variables(result, document, path, options)
        result = with_folders_told(result, document, path)
    if any(sign in line for cell in document.cells_with_commands for line in document.lines_of(cell) for sign in "!%"):
        result = with_expressions_told(result, document, path, options, project)
    if document.cells_of_text:
        result = with_texts_told(result, document, path, options)
    return result


def _heed(document: Document, options: Options) -> CellComments:
    """Takes out of a document's remarks and pins what was not asked for, and marks what a comment in the file silences.

    Returns:
        The comments, some of which did.
    """
    comments = CellComments(document)
    wanted = [remark for remark in document.remarks if remark.kind is Kind.ERROR or options.enabled(remark.code)]
    document.remarks = [comments.heeded(remark) for remark in wanted]
    document.pins = [
        (place, pin) for place, pin in document.pins if comments.of(RM731.code, place.cell, place.line) is None
    ]
    return comments


def _with_versions_raised(
    result: FileResult, document: Document, path: str, options: Options, *, rewrite: bool
) -> FileResult:
    """The same result with the versions raised that lines of the document install."""
    if not any(pin.replaceable for _, pin in document.pins):
        return result
    new = result.rewritten or document
    rewritten = edited(new, new.raised(), path)
    _heed(rewritten, options)
    raised = [(place, pin) for place, pin in new.pins if pin.replaceable and (place, pin) not in rewritten.pins]
    rewritten.remarks += [pin_remark(pin, place, changes=True) for place, pin in raised]
    document.remarks = [remark for remark in document.remarks if remark.kind is not Kind.UNSAFE]
    document.remarks += [pin_remark(pin, place, changes=True) for place, pin in document.pins if pin.replaceable]
    if not rewrite:
        return replace(result, changes=True)
    return replace(result, changes=True, after=rewritten.text, rewritten=rewritten)
