"""Scripts that cells of a notebook write to files: `%%writefile train.py`.

https://ipython.readthedocs.io/en/stable/interactive/magics.html#cellmagic-writefile. Such a cell defines nothing in the
notebook: it is a script of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from raymigrate.base.expressions import lazy_regex
from raymigrate.documents.remarks import Place

WRITES = lazy_regex(r"%%(?:writefile|file)\b(?P<words>.*)")
APPENDS = ("-a", "--append")
SCRIPTS = (".py",)
SETTINGS = (".yaml", ".yml", ".json")


@dataclass(frozen=True)
class CellFile:
    """A file that a cell writes.

    Args:
        name: Its name, as the cell gives it.
        number: The number of the cell.
        first: The line of the cell on which the file starts.
        lines: Its lines.
        appends: Whether the cell adds them to what is in the file.
    """

    name: str
    number: int
    first: int
    lines: tuple[str, ...]
    appends: bool = False

    @property
    def text(self) -> str:
        """What is written."""
        return "".join(f"{line}\n" for line in self.lines)

    def place(self, line: int, column: int) -> Place:
        """The place in the notebook of a place in the file; lines and columns count from 1."""
        return Place(self.number, self.first + line - 1, column)


def cell_file(magic: str, body: Sequence[str], head: Place) -> CellFile | None:
    """The file that a cell with this magic writes; None for other magics.

    Args:
        magic: The line of the magic.
        body: The lines below it.
        head: The place of the magic.
    """
    match = WRITES.match(magic)
    words = match["words"].split() if match else []
    names = [word.strip("\"'") for word in words if word not in APPENDS]
    if len(names) != 1:
        return None
    return CellFile(names[0], head.cell, head.line + 1, tuple(body), appends=len(names) < len(words))


def texts_written(files: Sequence[CellFile]) -> dict[str, str | None]:
    """What is in each of the files that cells write, by name; None where several cells write it, or only a part."""
    texts: dict[str, str | None] = {}
    for file in files:
        known = not file.appends and texts.get(file.name, file.text) == file.text
        texts[file.name] = file.text if known else None
    return texts


def whole_files(files: Sequence[CellFile], *suffixes: str) -> list[CellFile]:
    """Those of these files with such a suffix that one cell writes as a whole."""
    appended = {file.name for file in files if file.appends}
    return [file for file in files if file.name.endswith(suffixes) and file.name not in appended]
