"""What notebooks and Databricks sources say to a shell: `!torchrun a.py`, a `%%bash` cell, `# MAGIC !python a.py`."""

import re
from collections.abc import Iterator, Sequence

from raymigrate.base.expressions import lazy_regex
from raymigrate.documents.cell_scripts import DATABRICKS, MAGIC
from raymigrate.documents.notebook import Notebook

SHELL_CELL = lazy_regex(r"\s*%%?(?:bash|sh|shell|script|system|sx)\b")
SHELL_LINE = lazy_regex(r"\s*(?:[A-Za-z_]\w*\s*=\s*)?(?:!|%(?:sh|system|sx)\b)")

COMMENT = lazy_regex(r"(?:^|(?<=\s))#[^\n]*", re.MULTILINE)


def without_comments(text: str) -> str:
    """Commands, or settings, with spaces in place of their comments, so that all else keeps its place."""
    return COMMENT.sub(lambda found: " " * len(found[0]), text)


def is_databricks_source(data: bytes) -> bool:
    """Whether a script is the source of a Databricks notebook."""
    return data.startswith(DATABRICKS.encode())


def shell_of_notebook(data: bytes) -> Iterator[tuple[int, str]]:
    """What the cells of a notebook say to a shell or to a reader, each with its number; all else is blank.

    Args:
        data: The notebook.

    Raises:
        UndecodableError: If it is none.
    """
    document = Notebook(data)
    for cell in document.cells_with_commands:
        yield cell, "\n".join(_shell_of(document.lines_of(cell)))
    for cell in document.cells_of_text:
        yield cell, "\n".join(document.lines_of(cell))


def shell_of_source(text: str) -> str:
    """What a Databricks source holds for others than Python; all else is blank, so that every line has its number."""
    return "\n".join(line.removeprefix(MAGIC) if line.startswith(MAGIC) else "" for line in text.splitlines())


def _shell_of(lines: Sequence[str]) -> Iterator[str]:
    """The lines of a cell, those of Python blank. A command may go on after a backslash."""
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    is_shell = first < len(lines) and SHELL_CELL.match(lines[first]) is not None
    goes_on = False
    for line in lines:
        is_command = is_shell or goes_on or SHELL_LINE.match(line) is not None
        yield line if is_command else ""
        goes_on = is_command and line.endswith("\\")
