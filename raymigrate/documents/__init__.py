"""How Python sits in a file: alone, in the cells of a notebook or a script, in the code blocks of a page.

A document gives the text of one module, and takes a changed one back: `encode` puts the changes where they belong and
leaves every other byte of the file as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from raymigrate.base.findings import Finding
from raymigrate.documents.cell_scripts import cell_script
from raymigrate.documents.cells import NotSplit
from raymigrate.documents.magics import syntax_error
from raymigrate.documents.notebook import Notebook
from raymigrate.documents.pages import page
from raymigrate.documents.remarks import Place
from raymigrate.files.discovery import PAGES
from raymigrate.files.script import Script, UndecodableError, decode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from raymigrate.documents.cell_files import CellFile
    from raymigrate.knowledge.versions import Pin

__all__ = ["Document", "NotSplit", "Place", "Plain", "UndecodableError", "edited", "open_document", "reopened"]

NOTEBOOK = ".ipynb"


class Document(Protocol):
    """A file that holds Python."""

    remarks: list[Finding]
    """What there is to say of it before anything is converted: one of kind ERROR means that nothing can be."""

    for_ray: bool
    """Whether its code uses Ray Train, did before an edit, or was said to: else what it installs does not matter."""

    pins: list[tuple[Place, Pin]]
    """The versions that lines of it install and that converted code does not run on, with the starts of the lines."""

    @property
    def scripts(self) -> Sequence[CellFile]:
        """Scripts of their own that it writes to files."""

    @property
    def written(self) -> Mapping[str, str | None]:
        """Files with settings that it writes, by name, and what is in each; None where that is not known."""

    @property
    def numbers(self) -> list[int]:
        """See `Cells.numbers`; none without cells."""

    def number(self, numbers: Iterable[int]) -> None:
        """See `Cells.number`."""

    @property
    def encoding(self) -> str:
        """The encoding of the file."""

    @property
    def text(self) -> str:
        """Its Python as one module."""

    def place(self, line: int, column: int) -> Place:
        """The place in the file of a place in the text; both count from 1."""

    @property
    def cells_with_commands(self) -> Sequence[int]:
        """The numbers of the cells in which shell commands may stand; none where only strings could hold some."""

    @property
    def cells_of_text(self) -> Sequence[int]:
        """The numbers of the cells that hold text for a reader."""

    shell_rows: frozenset[int]
    """The indices of the lines of a page that stand in blocks of shell commands."""

    def lines_of(self, cell: int) -> list[str]:
        """The source lines of a cell, magics and all; of the file where `cell` is 0."""

    def code(self, text: str) -> list[str]:
        """The lines of the text, or of a changed one, that hold Python of the file."""

    def encode(self, text: str) -> bytes:
        """The file with a changed text.

        Raises:
            UndecodableError: If the encoding of the file has not all of its characters.
            NotSplit: If it does not fall into the same cells.
        """

    @property
    def blank_cells(self) -> set[int]:
        """The cells that hold nothing."""

    def without(self, blank: set[int]) -> tuple[bytes, list[int]]:
        """The file less these blank cells, as far as nothing else is lost with them; the numbers of the others."""

    def raised(self) -> bytes:
        """The file with these versions raised where that is sure."""


class Plain:
    """A file that is Python and nothing else."""

    scripts: Sequence[CellFile] = ()
    written: Mapping[str, str | None] = {}
    cells_with_commands: Sequence[int] = ()
    cells_of_text: Sequence[int] = ()
    shell_rows: frozenset[int] = frozenset()
    for_ray = False

    def __init__(self, script: Script) -> None:
        self.script = script
        self.text = script.text
        self.encoding = script.encoding
        self.remarks: list[Finding] = []
        self.pins: list[tuple[Place, Pin]] = []

    @property
    def numbers(self) -> list[int]:
        """None: it has no cells."""
        return []

    @property
    def blank_cells(self) -> set[int]:
        """None: it has no cells."""
        return set()

    def number(self, numbers: Iterable[int]) -> None:
        """Nothing: it has no cells."""

    def place(self, line: int, column: int) -> Place:
        """The same place."""
        return Place(0, line, column)

    def lines_of(self, cell: int) -> list[str]:
        """All lines."""
        return self.text.split("\n")

    def code(self, text: str) -> list[str]:
        """All lines."""
        return text.split("\n")

    def encode(self, text: str) -> bytes:
        """The text in the encoding of the file."""
        return self.script.encode(text)

    def without(self, blank: set[int]) -> tuple[bytes, list[int]]:
        """The same file: it has no cells."""
        return self.encode(self.text), []

    def raised(self) -> bytes:
        """The same file: what a script installs is in other files."""
        return self.encode(self.text)


def open_document(data: bytes, filename: str, *, for_ray: bool = False) -> Document:
    """Reads a file.

    Args:
        data: Its bytes.
        filename: Its name, which tells what it is: a notebook, a page, else Python.
        for_ray: See `Document.for_ray`.

    Raises:
        UndecodableError: If it is not what its name says; the message is half a sentence.
    """
    name = filename.lower()
    if name.endswith(NOTEBOOK):
        return Notebook(data, for_ray=for_ray)
    script = decode(data)
    if name.endswith(PAGES):
        return page(script, filename, for_ray=for_ray)
    if b"%" in data or b"!" in data or b"?" in data or b"# In[" in data or b"# Databricks" in data:
        return cell_script(script, for_ray=for_ray) or Plain(script)
    return Plain(script)


def edited(document: Document, data: bytes, filename: str) -> Document:
    """The document as it is with other bytes in the same cells, whose numbers it keeps."""
    return _numbered(open_document(data, filename, for_ray=document.for_ray), document.numbers)


def reopened(document: Document, text: str, filename: str) -> Document:
    """The document as it will be once a changed text is in it, less the cells of which nothing is left.

    Args:
        document: The document as it is.
        text: The changed text.
        filename: Its name.

    Raises:
        UndecodableError: See `Document.encode`.
        NotSplit: If what it then holds is not the changed text: the edges of cells or magics are in its way.
    """
    data = document.encode(text)
    again = open_document(data, filename, for_ray=document.for_ray)
    if again.code(again.text) != document.code(text) or document.encode(again.text) != data:
        problem = syntax_error(text)
        what = f"the result cannot be parsed: {problem.msg}" if problem else ""
        raise NotSplit(what or "an edit lies across a magic or the edge of a cell")
    emptied = again.blank_cells - document.blank_cells
    if not emptied:
        return again
    data, numbers = again.without(emptied)
    return _numbered(open_document(data, filename, for_ray=document.for_ray), numbers)


def _numbered(document: Document, numbers: list[int]) -> Document:
    """The document with other numbers of its cells; with its own, where an edit has made others of them."""
    if len(numbers) == len(document.numbers):
        document.number(numbers)
    return document
