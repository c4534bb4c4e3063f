"""Magics and shell lines of a notebook: a name stands for each, so that what they read is not seen."""

import ast
import contextlib
import re
from collections.abc import Iterable, Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.documents import UndecodableError, open_document
from raymigrate.documents.cell_scripts import COMMAND, DATABRICKS, MAGIC
from raymigrate.documents.cells import STAND_INS
from raymigrate.documents.magics import CELL_MAGIC, PYTHON_CELL_MAGICS
from raymigrate.documents.notebook import Notebook
from raymigrate.facts.syntax.module import Module

SHELL_CELL = lazy_regex(r"\s*%%(?:bash|sh)\b")
PYTHON_CELL = lazy_regex(r"\s*%python\b")
# What Colab and Kaggle keep of the machine that a notebook was run on.
ON_GPU = lazy_regex(rb'"accelerator"\s*:\s*"GPU"|"isGpuEnabled"\s*:\s*true')
# A line of a notebook, or of a source of Databricks: what it runs, or restores, has names.
BINDS_NAMES = lazy_regex(rb'(?:^|")[ \t]*(?:# MAGIC[ \t]+)?%(?:run|store[ \t]+-\w*r|pylab)\b', re.MULTILINE)
SIGNS = (b"%run", b"%store", b"%pylab")  # one of them is in each of these, and in few files


def magics_in(module: Module, block: ast.AST) -> list[ast.Name]:
    """What stands for magics and shell lines in a block: `!cp -r {folder} /final`, `files = !ls {folder}`.

    Those before a statement of Python, `%time train()`, are left out: that statement is seen.
    """
    names = (node for node in ast.walk(block) if isinstance(node, ast.Name) and "mask" in node.id)
    return [name for name in names if STAND_INS.fullmatch(name.id) and not _heads_statement(module, name)]


def written_lines(module: Module, names: Iterable[ast.Name]) -> Iterator[tuple[ast.Name, str]]:
    """What names stand for, as it is written in the file: `!cp -r {folder} /final`. Those not found are left out.

    Args:
        module: The module that the cells are joined to.
        names: See `magics_in`.
    """
    wanted = {name.id: name for name in names}
    if not wanted or module.project is None:
        return
    try:
        document = open_document(module.project.read(module.path), module.path)
    except (OSError, UndecodableError):
        return
    for number, text in enumerate(document.text.split("\n"), 1):
        for found in STAND_INS.finditer(text):
            if found[0] in wanted:
                place = document.place(number, 1)
                lines = document.lines_of(place.cell)[place.line - 1 :]
                last = next((n for n, line in enumerate(lines) if not line.endswith("\\")), len(lines) - 1)
                yield wanted[found[0]], "\n".join(lines[: last + 1]).strip()


def shell_cells(module: Module, *places: int) -> tuple[list[tuple[int, list[str]]], list[int]]:
    """The cells of a notebook that a shell runs, `%%bash`, each with its number and lines: no module has them.

    Args:
        module: The module that the other cells are joined to.
        *places: Lines of the module.

    Returns:
        These cells, and the numbers of the cells that the lines are in.
    """
    document = _notebook_of(module)
    if document is None:
        return [], []
    cells = [(number, document.lines_of(number)) for number in document.cells_with_commands]
    of_shell = [(number, lines) for number, lines in cells if SHELL_CELL.match("\n".join(lines))]
    return of_shell, [document.place(line, 1).cell for line in places]


def cell_magics(module: Module, steps: Iterable[ast.stmt]) -> Iterator[tuple[int, str, list[ast.stmt]]]:
    """The cells of a notebook with a magic at their head that runs Python, `%%time`: number, magic, and steps in them.

    Args:
        module: The module that the cells are joined to.
        steps: Statements of it; cells without one of them are left out.
    """
    document = _notebook_of(module)
    cells = dict[int, list[ast.stmt]]()
    for step in steps if document is not None else ():
        cells.setdefault(document.place(step.lineno, 1).cell, []).append(step)  # type: ignore[union-attr]
    for number, inside in cells.items():
        lines = document.lines_of(number)  # type: ignore[union-attr]
        head = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
        magic = CELL_MAGIC.match(head)
        if magic is not None and magic[1] in PYTHON_CELL_MAGICS:
            yield number, head.strip(), inside


def _notebook_of(module: Module) -> Notebook | None:
    """The notebook whose cells a module is joined of."""
    if module.project is None or not module.path.endswith(".ipynb"):
        return None
    try:
        document = open_document(module.project.read(module.path), module.path)
    except (OSError, UndecodableError):
        return None
    return document if isinstance(document, Notebook) else None


def commented_cells(module: Module) -> Iterator[ast.Module]:
    """The cells of a Databricks source that are Python behind `# MAGIC %python`: comments, which no module has."""
    try:
        data = module.project.read(module.path) if module.project is not None and module.path else b""
    except OSError:
        return
    cell: list[str] = []
    lines = data.decode(errors="replace").splitlines() if data.startswith(DATABRICKS.encode()) else []
    for line in (*lines, None):
        if line is not None and COMMAND.match(line) is None:
            cell += [line[len(MAGIC) :]] if line.startswith(MAGIC.rstrip()) else []
            continue
        if cell and PYTHON_CELL.match(cell[0]):
            with contextlib.suppress(SyntaxError, ValueError):
                yield ast.parse("\n".join(cell[1:]))
        cell = []


def _heads_statement(module: Module, name: ast.Name) -> bool:
    line, column = module.end(name)
    return module.lines[line - 1][column:].startswith(";")


def runs_other_files(module: Module) -> bool:
    """Whether a line of a notebook binds names that it doesn't show, as `%run ./helpers` does.

    Args:
        module: The module that the cells are joined to. A cell without Python is not a part of it, so that the file is
            read.
    """
    if module.project is None or not module.path:
        return False
    try:
        data = module.project.read(module.path)
        return any(sign in data for sign in SIGNS) and BINDS_NAMES.search(data) is not None
    except OSError:
        return False


def asks_for_accelerator(module: Module) -> bool:
    """Whether the settings of a notebook ask Colab or Kaggle for a machine with a GPU."""
    if module.project is None or not module.path.endswith(".ipynb"):
        return False
    try:
        return ON_GPU.search(module.project.read(module.path)) is not None
    except OSError:
        return False
