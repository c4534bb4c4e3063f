"""Jupyter notebooks: JSON that is edited in place, so that nothing but the changed source lines changes.

The format: https://nbformat.readthedocs.io/en/latest/format_description.html. A notebook is never rewritten from its
data: editors differ in indentation, escaping, line ends and the order of keys, and each of them may have written it.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Finding
from raymigrate.documents.cell_files import SCRIPTS, SETTINGS, CellFile, cell_file, texts_written, whole_files
from raymigrate.documents.cells import Cell, Cells, OfCells, refuse_much_code
from raymigrate.documents.json_spans import elements, members, start_of_value
from raymigrate.documents.lines import spliced
from raymigrate.documents.magics import CELL_MAGIC, PYTHON_CELL_MAGICS
from raymigrate.documents.notebook_sources import Source, source_at
from raymigrate.documents.remarks import Place, concerns, old_pins, other_language, pin_remark, uses_train
from raymigrate.files.script import UndecodableError

if TYPE_CHECKING:
    from raymigrate.knowledge.versions import Pin

# Blank lines, and comments that Colab, nbdev and Quarto read at the head of a cell: nothing may come before them.
HEAD = lazy_regex(r"\s*(?:#\s*@(?:title|markdown)\b|#\|)|\s*$")
ESCAPE = lazy_regex(r"\\u[0-9a-fA-F]{4}|\\.")
DATABRICKS = "application/vnd.databricks.v1+notebook"
# There a single percent sign gives a cell another language: https://docs.databricks.com/aws/en/notebooks/notebooks-code
DATABRICKS_MAGIC = lazy_regex(r"%(?:%|(?=(?:sh|sql|scala|r|fs|md|html)\b))(\w+)")
# Where the metadata of a notebook name its language.
LANGUAGES = (("kernelspec", "language"), ("language_info", "name"), (DATABRICKS, "language"))
PYTHON = {"python", "python2", "python3", "ipython", "ipython3", "pyspark"}


class NotebookError(UndecodableError):
    """The file is not a notebook, or cannot be read."""


class Notebook(OfCells):
    """A notebook.

    Args:
        data: Its bytes.

    Raises:
        NotebookError: If they are not a notebook of format 4.
    """

    encoding = "utf-8"

    def __init__(self, data: bytes, *, for_ray: bool = False) -> None:
        self._bom = data.startswith(BOM_UTF8)
        self._json = _decoded(data)
        self._sources: dict[int, Source] = {}  # by index of the cell among those that take part
        self._by_number: dict[int, Source] = {}
        self.cells_with_commands: list[int] = []
        self.cells_of_text: list[int] = []
        self._files: list[CellFile] = []
        self.remarks: list[Finding] = []
        content = _loaded(self._json)
        self._cell_magic = DATABRICKS_MAGIC if DATABRICKS in _metadata(content) else CELL_MAGIC
        cells: list[Cell] = []
        pins: list[tuple[Place, Pin]] = []
        if _is_python(content):
            for number, source, is_code in self._sources_of(content):
                self._by_number[number] = source
                if not is_code:
                    self.cells_of_text.append(number)
                    continue
                self.cells_with_commands.append(number)
                old = old_pins(source.texts)
                pins += [(Place(number, index + 1, 1), pin) for index, pin in old]
                cell = self._python_of(number, source)
                if cell is not None:
                    self._sources[len(cells)] = source
                    cells.append(cell)
        self._cells = Cells(cells)
        texts = [self.text, *(script.text for script in self.scripts)] if pins else []
        self.for_ray = for_ray or any(map(uses_train, texts))
        self.pins = [(place, pin) for place, pin in pins if concerns(pin, *texts, for_ray=self.for_ray)]
        self.remarks += [*self._cells.remarks, *(pin_remark(pin, place) for place, pin in self.pins)]

    shell_rows: frozenset[int] = frozenset()

    @property
    def scripts(self) -> list[CellFile]:
        """The scripts that its cells write to files."""
        return whole_files(self._files, *SCRIPTS)

    @property
    def settings(self) -> list[CellFile]:
        """The files with settings that they write."""
        return whole_files(self._files, *SETTINGS)

    @property
    def written(self) -> dict[str, str | None]:
        """See `Document.written`."""
        return texts_written([file for file in self._files if file.name.endswith(SETTINGS)])

    def place_in_file(self, cell: int, line: int, column: int) -> tuple[int, int]:
        """The line and column in the JSON of the file of a place in a cell, as `place` gives it."""
        position = self._by_number[cell].position(line, column)
        line = bisect_left(self._line_ends, position)
        return line + 1, position - (self._line_ends[line - 1] if line else -1)

    def lines_of(self, cell: int) -> list[str]:
        """The source lines of a cell."""
        return self._by_number[cell].texts

    def encode(self, text: str) -> bytes:
        """The file with a changed text; `NotSplit` if that cannot be."""
        changed = []
        for index, lines in sorted(self._cells.split(text).items()):
            changed.append((self._sources[index], self._cells.cells[index].first, lines))
        return self._with_sources(changed)

    def with_scripts(self, changed: Mapping[int, list[str]]) -> bytes:
        """The file with other lines in the scripts of these cells."""
        files = sorted((file for file in self._files if file.number in changed), key=lambda file: file.number)
        return self._with_sources([(self._by_number[f.number], f.first, changed[f.number]) for f in files])

    def _with_sources(self, changed: Iterable[tuple[Source, int, list[str]]]) -> bytes:
        """The file with other lines in these cells, in their order, from a line on that is counted from 1."""
        pieces: list[str] = []
        position = 0
        for source, first, lines in changed:
            head = source.texts[: first - 1]
            pieces += [self._json[position : source.span[0]], self._edited(source, [*head, *lines])]
            position = source.span[1]
        return (BOM_UTF8 if self._bom else b"") + "".join([*pieces, self._json[position:]]).encode()

    @property
    def blank_cells(self) -> set[int]:
        """The code cells that hold nothing, by their number."""
        return {cell.number for cell in self._cells.cells if cell.is_blank}

    def without(self, blank: set[int]) -> tuple[bytes, list[int]]:
        """See `Document.without`; a cell with outputs or tags stays, since those would be lost with it."""
        start = members(self._json, start_of_value(self._json))["cells"][0]
        spans = elements(self._json, start)
        kept = [i for i, span in enumerate(spans) if i + 1 not in blank or _holds_more(self._json[slice(*span)])]
        if not kept or len(kept) == len(spans):
            return self.encode(self.text), self.numbers
        pieces = [self._json[: spans[0][0]]]
        for index in kept:
            following = spans[index + 1][0] if index != kept[-1] else spans[index][1]  # with the comma, or without
            pieces.append(self._json[spans[index][0] : following])
        text = "".join([*pieces, self._json[spans[-1][1] :]])
        numbers = [n for cell, n in zip(self._cells.cells, self.numbers, strict=True) if cell.number - 1 in set(kept)]
        return (BOM_UTF8 if self._bom else b"") + text.encode(), numbers

    def raised(self) -> bytes:
        """See `Document.raised`."""
        text = self._json
        for place, pin in reversed(self.pins):
            if pin.replaceable:
                source, (first, last) = self._by_number[place.cell], pin.place
                start, end = (source.position(place.line, column + 1) for column in (first, last))
                if _unescaped(text[start:end]) == source.lines[place.line - 1].line.text[first:last]:
                    text = text[:start] + self._escaped(pin.replacement) + text[end:]
        return (BOM_UTF8 if self._bom else b"") + text.encode()

    def _edited(self, source: Source, lines: list[str]) -> str:
        """The value of a source with new lines; each line that was there is written as it was."""
        old = source.lines
        new: list[str] = []
        for index, line in spliced([raw.line for raw in old], lines):
            same = index is not None and old[index].line == line
            new.append(old[index].raw if same and index is not None else self._escaped(line.text + line.end))
        return source.written(new)

    def _escaped(self, text: str) -> str:
        """A text as the file would write it in a string: what it escapes elsewhere is escaped here."""
        return "".join(map(self._escaped_character, text))

    def _escaped_character(self, character: str) -> str:
        known = self._escapes.get(character)
        return known or json.dumps(character, ensure_ascii=self._json.isascii())[1:-1]

    @cached_property
    def _escapes(self) -> dict[str, str]:
        """Characters that the code cells escape, and how; of several forms the first."""
        found: dict[str, str] = {}
        for source in self._by_number.values():
            for raw in source.lines:
                for escape in dict.fromkeys(ESCAPE.findall(raw.raw)):
                    found.setdefault(json.loads(f'"{escape}"'), escape)
        return found

    @cached_property
    def _line_ends(self) -> list[int]:
        """Where in the file its lines end."""
        return [match.start() for match in re.finditer("\n", self._json)]

    # -- reading -----------------------------------------------------------------------------------

    def _sources_of(self, content: dict[str, Any]) -> Iterator[tuple[int, Source, bool]]:
        """The number and source of each cell of code or text, and whether it is code."""
        text = self._json
        cells = members(text, start_of_value(text))["cells"][0]
        refuse_much_code(_lengths_of_code(content["cells"]))
        for number, (cell, (start, _)) in enumerate(zip(content["cells"], elements(text, cells), strict=True), 1):
            if isinstance(cell, dict) and cell.get("cell_type") in ("code", "markdown"):
                value = cell.get("source")
                is_list = isinstance(value, list) and all(isinstance(line, str) for line in value)
                if is_list or isinstance(value, str):
                    yield number, source_at(text, members(text, start)["source"]), cell["cell_type"] == "code"

    def _python_of(self, number: int, source: Source) -> Cell | None:
        """The cell without what has to stay at its head; None if a cell magic there makes it another language."""
        lines = source.texts
        first = next((index for index, line in enumerate(lines) if not HEAD.match(line)), len(lines))
        magic = self._cell_magic.match(lines[first]) if lines[first:] else None
        if magic is None:
            return Cell(number, first + 1, tuple(lines[first:]))
        body = lines[first + 1 :]
        if magic[1] in PYTHON_CELL_MAGICS:
            return Cell(number, first + 2, tuple(body))
        place = Place(number, first + 1, 1)
        if written := cell_file(lines[first], body, place):
            self._files.append(written)
        self.remarks += other_language(magic[0], body, place)
        return None


def _holds_more(cell: str) -> bool:
    """Whether a cell, as JSON, has outputs, tags or attachments besides its source."""
    content = json.loads(cell)
    return bool(content.get("outputs") or content.get("metadata", {}).get("tags") or content.get("attachments"))


def _unescaped(part: str) -> str | None:
    """A part of a string as it is in JSON; None if it begins or ends within an escape, or reaches beyond the string."""
    try:
        text = json.loads(f'"{part}"')
    except json.JSONDecodeError:
        return None
    return text if isinstance(text, str) else None


def _decoded(data: bytes) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise NotebookError("is UTF-16, and JSON is UTF-8; save it as UTF-8")
    try:
        return data.removeprefix(BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        raise NotebookError(
            f"is not UTF-8 (byte {error.start} does not fit), which JSON is; save it as UTF-8"
        ) from error


def _loaded(text: str) -> dict[str, Any]:
    """The data of a notebook of format 4."""
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"is not a notebook: not JSON ({error.msg}); open and save it in Jupyter, or repair it"
        raise NotebookError(message, error.lineno, error.colno) from error
    except RecursionError as error:
        raise NotebookError("is nested too deeply for a notebook") from error
    except ValueError as error:  # Python reads no number of thousands of digits
        raise NotebookError("is not a notebook that Python can read: it holds a number that is too long") from error
    version = content.get("nbformat") if isinstance(content, dict) else None
    if isinstance(version, int) and version < 4:
        raise NotebookError(
            f"is a notebook of format {version}, from before 2015; convert it with"
            " `jupyter nbconvert --to notebook --inplace` first"
        )
    if version is None or not isinstance(content.get("cells"), list):
        raise NotebookError("is not a notebook: it is JSON, but has no nbformat and cells")
    return dict(content)


def _lengths_of_code(cells: list[Any]) -> Iterator[int]:
    for cell in cells:
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source")
            yield sum(len(line) for line in source if isinstance(line, str)) if isinstance(source, (list, str)) else 0


def _metadata(content: dict[str, Any]) -> dict[str, Any]:
    metadata = content.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _is_python(content: dict[str, Any]) -> bool:
    """Whether the notebook is Python's; one that does not say is taken for it."""
    metadata = _metadata(content)
    for key, name in LANGUAGES:
        entry = metadata.get(key)
        language = entry.get(name) if isinstance(entry, dict) else None
        if isinstance(language, str):
            return language.lower() in PYTHON
    return True
