"""RM402 in what cells say to a shell or to a magic: folders that get no results any more, `!ls /mnt/runs/bert`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Finding, Kind
from raymigrate.codemods.torch_trainer.former_folders import ADVICE, DELETED, path_of, says
from raymigrate.codemods.torch_trainer.storage import RM402, gone_folders
from raymigrate.documents.lines import Places
from raymigrate.documents.remarks import shell_text
from raymigrate.documents.shell_lines import SHELL_CELL, without_comments
from raymigrate.facts.syntax.module import Module
from raymigrate.run.cell_comments import with_told

if TYPE_CHECKING:
    from raymigrate.documents import Document
    from raymigrate.run.outcome import FileResult

# `!ls`, `files = !ls`, `%ls`; not `%time os.listdir()`, which is Python, nor `%env RUNS=/mnt`, where use is told.
COMMAND_LINE = lazy_regex(r"\s*(?:[A-Za-z_]\w*\s*=\s*)?(?:!|%(?!%|time\b|timeit\b|prun\b|memit\b|(?:set_)?env\b)\w)")
COMMAND = lazy_regex(r"(?:\\\n|[^\n;|&])+")
PROGRAM = lazy_regex(r"\s*(?:[A-Za-z_]\w*\s*=\s*)?[!%]*(?:(?:sudo|sh|sx|system)\s+)?(\w*)")
MAKES_OR_SHOWS = frozenset({"mkdir", "echo", "export", "chmod", "chown"})


@dataclass(frozen=True)
class Folder:
    """A folder that gets no results any more.

    Args:
        named: Finds it in a command.
        message: What there is to say there.
    """

    named: re.Pattern[str]
    message: str


def with_folders_told(result: FileResult, document: Document, path: str) -> FileResult:
    """The result of a document that says which commands look into a local_dir that goes.

    Args:
        result: What became of its code.
        document: The document as it was opened.
        path: Its name.
    """
    if not any(found.message == DELETED for found in result.findings):
        return result
    module = Module(document.text)
    folders = [_folder(module, folder) for folder in gone_folders(module, result.findings)]
    return with_told(result, document, lambda held: _told(held, folders, path), once=True)


def _folder(module: Module, folder: ast.expr) -> Folder:
    named = []
    if path := path_of(module, folder):
        named.append(rf"(?<![\w./~-]){re.escape(path)}(?![\w.-])")
    if isinstance(folder, ast.Name):  # IPython puts its value there
        named.append(rf"\{{{folder.id}\}}|\${folder.id}\b")
    return Folder(re.compile("|".join(named) or r"(?!)"), says(module, folder))


def _told(document: Document, folders: Sequence[Folder], path: str) -> Iterator[Finding]:
    for cell in document.cells_with_commands:
        for folder, line, column in _looks(_commands(document.lines_of(cell)), folders):
            yield Finding(RM402.code, Kind.MANUAL, folder.message, ADVICE, line, column, path, cell)


def _looks(text: str, folders: Sequence[Folder]) -> Iterator[tuple[Folder, int, int]]:
    """Where commands name a folder: once for each command."""
    places = Places(text)
    for command in COMMAND.finditer(text):
        program = PROGRAM.match(command[0])
        if program is not None and program[1] in MAKES_OR_SHOWS:
            continue
        for folder in folders:
            if named := folder.named.search(command[0]):
                yield (folder, *places.place(command.start() + named.start()))


def _commands(lines: Sequence[str]) -> str:
    """The commands in the lines of a cell; all else is blank, so that every line has its number."""
    texts = shell_text(lines).split("\n")
    first = next((text for text in texts if text.strip()), "")
    is_shell = SHELL_CELL.match(first) is not None and first.lstrip().startswith("%%")
    goes_on, kept = False, []
    for text in texts:
        is_command = is_shell or goes_on or COMMAND_LINE.match(text) is not None
        kept.append(text if is_command else "")
        goes_on = is_command and text.endswith("\\")
    return without_comments("\n".join(kept))
