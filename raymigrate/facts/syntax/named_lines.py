"""Lines that messages name: of another file in the numbers of the file as it was read."""

import ast

from raymigrate.base import findings
from raymigrate.documents import UndecodableError, open_document
from raymigrate.documents.line_changes import moved_lines
from raymigrate.facts.syntax.module import Module


def own_lines(module: Module, *nodes: ast.AST) -> str:
    """The lines where nodes start, as messages of the same file name them: `line 12`, `lines 12, 15`."""
    return findings.named_line("", *sorted(module.start(node)[0] for node in nodes))


def named_line(module: Module, node: ast.AST) -> str:
    """The line where a node starts, as messages of other files name it: `line 12`."""
    return findings.named_line(module.path, _line_of_file(module, module.start(node)[0]))


def line_of_file(module: Module, node: ast.AST) -> str:
    """The line where a node starts, with its file: `line 12 of jobs/a.py`."""
    return f"{named_line(module, node)} of {module.path}"


def _line_of_file(module: Module, line: int) -> int:
    """Where a line of a module is in its file: the project may hold it without its comments of `--todo`."""
    if module.project is None:
        return line
    try:
        text = open_document(module.project.read(module.path), module.path).text
    except (OSError, UndecodableError):
        return line
    return line if text == module.text else moved_lines(module.text, text)(line)
