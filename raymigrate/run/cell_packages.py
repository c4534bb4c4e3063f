"""RM732 in cells: packages that converted code needs, and that the lines which install the others leave out.

Commands that are comments are read too: a notebook may say "Uncomment and run". What they lack is a note, as are the
versions that they pin (RM731).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from raymigrate.base.findings import Finding, Kind
from raymigrate.codemods.pins.needed_packages import RM732, advice, message
from raymigrate.documents import Document, Place
from raymigrate.documents.install_commands import uncommented
from raymigrate.documents.remarks import RM731, commented_pin_remark, old_pins, shell_text
from raymigrate.facts.syntax.module import Module
from raymigrate.pins.drivers import has_own_packages, needs_itself, worker_packages
from raymigrate.pins.evidence import is_legacy
from raymigrate.pins.kept import ON_DATABRICKS, kept, raised
from raymigrate.pins.kept import message as kept_message
from raymigrate.pins.needed import Needed, installed, missing, needed_by
from raymigrate.run.cell_comments import with_remarks, with_told
from raymigrate.run.outcome import FileResult

if TYPE_CHECKING:
    from raymigrate.base.options import Options


def with_needed_packages(result: FileResult, document: Document, path: str, options: Options) -> FileResult:
    """The result of a document that says what its install commands leave out.

    Args:
        result: What became of the document.
        document: The document as it was opened.
        path: Its name.
        options: What the user asked for.
    """
    if not is_legacy([*result.findings, *document.remarks]):
        return result
    needed = list(dict.fromkeys(_needed(document, result.findings))) if options.enabled(RM732.code) else []
    pins = options.enabled(RM731.code)

    def tell(held: Document) -> Iterator[Finding]:
        yield from _told(held, needed, path, pins=pins)
        yield from _kept(held, path) if options.enabled(RM732.code) else ()

    return with_told(result, document, tell, once=True)  # nothing is legacy in the next run


def with_packages_of_scripts(result: FileResult, needed: Sequence[Needed], path: str) -> FileResult:
    """The result of a notebook that says what its install commands leave out of what scripts need that it starts.

    Args:
        result: What became of the notebook.
        needed: What the scripts need.
        path: Its name.
    """
    for document in (result.document, result.rewritten):
        if document is not None and needed:
            told = _told(document, needed, path, pins=False)
            result = replace(result, findings=with_remarks(document, told, result.findings))
    return result


def _needed(document: Document, findings: Sequence[Finding]) -> Iterator[Needed]:
    """What the commands of a document have to install: for its own code, and for the scripts that its cells write."""
    own = Module(document.text)
    yield from _needed_where_it_runs(own, needed_by(document.text, findings))
    for script in document.scripts:
        needed = needed_by(script.text, [remark for remark in document.remarks if remark.cell == script.number])
        if needed and not has_own_packages(own, script.name):
            yield from _needed_where_it_runs(_parsed(script.text), needed)


def _needed_where_it_runs(module: Module | None, needed: Sequence[Needed]) -> Iterator[Needed]:
    """What of it the commands have to install: not what only the workers need, and get by a list of their own."""
    for package in needed:
        if module is None or package.name not in worker_packages(module) or needs_itself(module, package):
            yield package


def _parsed(text: str) -> Module | None:
    try:
        return Module(text)
    except SyntaxError:  # a line of it may be a magic
        return None


def _told(document: Document, needed: Sequence[Needed], path: str, *, pins: bool) -> Iterator[Finding]:
    """What a document lacks, and old versions in its comments."""
    installed_now, in_comments = _installed(document), _installed(document, uncommented)
    remarks = [*_lacking(needed, installed_now), *_lacking_in_comments(needed, installed_now, in_comments)]
    remarks += _old_in_comments(document, installed_now) if pins else []
    yield from (replace(remark, path=path) for remark in remarks)


def _lacking(needed: Sequence[Needed], places: dict[str, Place]) -> Iterator[Finding]:
    for lacking, (cell, line, column) in missing(needed, places):
        yield Finding(RM732.code, Kind.MANUAL, message(lacking), advice(lacking), line, column, cell=cell)


def _lacking_in_comments(
    needed: Sequence[Needed], places: dict[str, Place], in_comments: dict[str, Place]
) -> Iterator[Finding]:
    """What commands in comments lack of the packages that no command installs."""
    only_there = {name: place for name, place in in_comments.items() if name not in places}
    for lacking, (cell, line, column) in missing(needed, only_there, {*places, *in_comments}):
        text = f"{lacking.why}: add {lacking.requirement} to this command before you uncomment it."
        yield Finding(RM732.code, Kind.NOTE, text, "", line, column, cell=cell)


def _old_in_comments(document: Document, places: dict[str, Place]) -> Iterator[Finding]:
    """The versions that commands in comments pin, of packages that no command installs."""
    for cell in document.cells_with_commands:
        lines = uncommented(shell_text(document.lines_of(cell))).split("\n")
        for index, pin in old_pins(lines):
            if pin.name not in places and pin.matters_to([document.text]):
                yield commented_pin_remark(pin, Place(cell, index + 1, 1))


def _kept(document: Document, path: str) -> Iterator[Finding]:
    """The packages that a command may leave as old as the platform brings them."""
    texts = {cell: shell_text(document.lines_of(cell)) for cell in document.cells_with_commands}
    asked_for = {name for text in texts.values() for name in raised(text)}
    for cell, text in texts.items():
        if not any(map(ON_DATABRICKS.search, (document.text, "\n".join(document.lines_of(cell))))):
            continue
        for start, kept_there in kept(text):
            names = [name for name in kept_there if name not in asked_for]
            if not names:
                continue
            column = start - text.rfind("\n", 0, start)
            line = text.count("\n", 0, start) + 1
            yield Finding(RM732.code, Kind.NOTE, kept_message(names), "", line, column, path, cell=cell)


def _installed(document: Document, read: Callable[[str], str] = str) -> dict[str, Place]:
    """The packages that commands in the cells install, each with its first place.

    Args:
        read: What to take of the text of a cell.
    """
    found: dict[str, Place] = {}
    for cell in document.cells_with_commands:
        text = read(shell_text(document.lines_of(cell)))
        for name, start in installed(text).items():
            line_start = text.rfind("\n", 0, start) + 1
            found.setdefault(name, Place(cell, text.count("\n", 0, start) + 1, start - line_start + 1))
    return found
