"""Scripts made of cells: Databricks sources, the percent format, and notebooks saved as `.py`."""

import re
from collections.abc import Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Finding
from raymigrate.documents.lines import split_lines
from raymigrate.documents.magics import CELL_MAGIC, PYTHON_CELL_MAGICS, masked, syntax_error
from raymigrate.documents.regions import Regions
from raymigrate.documents.remarks import Place, concerns, old_pins, other_language, pin_remark, uses_train
from raymigrate.files.script import Script

# https://docs.databricks.com/aws/en/notebooks/notebook-format: the first line, and what parts the cells.
DATABRICKS = "# Databricks notebook source"
COMMAND = lazy_regex(r"# COMMAND -{10}\s*$")
# What may stand over the Python of a Databricks cell: its title, and a cell of another language, as comments.
HEAD = lazy_regex(r"\s*$|# (?:Databricks notebook source|DBTITLE|MAGIC)\b")
MAGIC = "# MAGIC "
LANGUAGE = lazy_regex(r"%%?(\w+)")
# https://jupytext.readthedocs.io/en/latest/formats-scripts.html; `# In[3]:` is what nbconvert writes.
PERCENT = lazy_regex(r"# ?%%(?:$|[\s\[])|# In\[[\d ]*\]:")
SIGNS = ("%%", "# In[")  # one of them is in each of these
# A marker that says nothing of its cell.
BARE = lazy_regex(r"# ?%%\s*$|# In\[[\d ]*\]:\s*$|# COMMAND -{10}\s*$")
# A quick look for lines that are not Python but IPython's.
MAGIC_LINE = lazy_regex(r"^\s*[%!?]|=\s*[%!](?!=)|\?\s*$|^(?:pip|conda) ", re.MULTILINE)


def cell_script(script: Script, *, for_ray: bool) -> Regions | None:
    """The cells of a script; None if it is an ordinary one. For `for_ray` see `Document.for_ray`."""
    is_databricks = script.text.startswith(DATABRICKS)
    if not is_databricks and not any(sign in script.text for sign in SIGNS) and not MAGIC_LINE.search(script.text):
        return None  # as most files
    lines = [line.text for line in split_lines(script.text)]
    if is_databricks:
        edges = [index for index, line in enumerate(lines) if COMMAND.match(line)]
    else:
        edges = [index for index, line in enumerate(lines) if PERCENT.match(line)]
        if not edges and not _has_magics(script.text, lines):
            return None
    cells = list(zip([0, *(edge + 1 for edge in edges)], [*edges, len(lines)], strict=True))
    regions = [(min(_start_of_python(lines, start), stop), stop, 0) for start, stop in cells]
    document = Regions(script, regions)
    if document.has_unread and syntax_error(script.text) is None:
        return None  # what looks like the edge of a cell is in a string or inside a block
    document.bare_markers = {n: edge for n, edge in enumerate(edges, 1) if BARE.match(lines[edge])}
    document.remarks += [remark for start, stop in cells for remark in _other_language(lines, start, stop)]
    old = [(Place(0, index + 1, 1), pin) for index, pin in old_pins(lines)]
    document.for_ray = for_ray or uses_train(document.text)
    document.pins = [(place, pin) for place, pin in old if concerns(pin, document.text, for_ray=document.for_ray)]
    document.remarks += [pin_remark(pin, place) for place, pin in document.pins]
    return document


def _start_of_python(lines: list[str], index: int) -> int:
    """The line from which a cell holds Python; the end of the file if it is in another language."""
    while index < len(lines) and HEAD.match(lines[index]):
        index += 1
    magic = CELL_MAGIC.match(lines[index]) if index < len(lines) else None
    if magic is None:
        return index
    return index + 1 if magic[1] in PYTHON_CELL_MAGICS else len(lines)


def _other_language(lines: list[str], start: int, stop: int) -> Iterator[Finding]:
    """Says of a cell in another language that it holds legacy code; in a Databricks source it is a comment."""
    cell = [(number, line) for number, line in enumerate(lines[start:stop], start + 1) if not HEAD.match(line)]
    magic = CELL_MAGIC.match(cell[0][1]) if cell else None
    if magic is None:
        cell = [
            (n, line[len(MAGIC) :]) for n, line in enumerate(lines[start:stop], start + 1) if line.startswith(MAGIC)
        ]
        magic = LANGUAGE.match(cell[0][1]) if cell else None
    if magic is not None and magic[1] not in PYTHON_CELL_MAGICS:
        yield from other_language(magic[0], [line for _, line in cell[1:]], Place(0, cell[0][0], 1))


def _has_magics(text: str, lines: list[str]) -> bool:
    """Whether a script is not Python, but would be without what IPython adds."""
    if not MAGIC_LINE.search(text) or syntax_error(text) is None:
        return False
    names = iter(range(len(lines)))
    return syntax_error("\n".join(masked(lines, lambda: f"mask_{next(names)}__", automagic=True).lines)) is None
