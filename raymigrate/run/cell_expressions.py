"""What shell lines and magics of a notebook read of its objects: `!ls {result.log_dir}`, `%cd $result.log_dir`.

IPython evaluates it as Python. Where that raises, the program or the magic gets the text as it is written (IPython
8.37, core/interactiveshell.py, `var_expand`), so that nothing else says what is wrong.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Finding, Kind
from raymigrate.documents.cells import STAND_INS
from raymigrate.run.cell_comments import with_told
from raymigrate.run.engine import convert

if TYPE_CHECKING:
    from raymigrate.base.options import Options
    from raymigrate.documents import Document
    from raymigrate.facts.projects.project import Project
    from raymigrate.run.outcome import FileResult

EXPRESSION = lazy_regex(r"(?<!\{)\{(?P<braces>[A-Za-z_][^{}]*)\}(?!\})|(?<!\$)\$(?P<dollar>[A-Za-z_]\w*(?:\.\w+)+)")
NOW = "; now "
UNSEEN = "IPython hands such an expression on as it is written where it raises."


@dataclass(frozen=True)
class Read:
    """An expression in a line that is not Python.

    Args:
        source: The expression.
        cell: The number of its cell.
        line: The line in the cell.
        column: The column there.
        stand_in: The line, in the text of the document, with what stands for it.
    """

    source: str
    cell: int
    line: int
    column: int
    stand_in: int


def with_expressions_told(
    result: FileResult, document: Document, path: str, options: Options, project: Project | None
) -> FileResult:
    """The result of a notebook that tells of what its shell lines and magics read and is gone or changed.

    Each is shown before the statement that stands for its line. Nothing in them is converted.

    Args:
        result: What became of the code.
        document: The notebook as it was opened, whose remarks are added to, as those of the rewritten one are.
        path: Its name.
        options: What the user asked for.
        project: See `engine.convert`.
    """
    return with_told(result, document, lambda held: _told(held, path, options, project))


def _told(document: Document, path: str, options: Options, project: Project | None) -> Iterator[Finding]:
    reads = list(_reads(document))
    if not reads:
        return
    plain = replace(options, todo=False, to_ray=False, to_accelerate=False, unsafe=False)
    text, by_line = _with_reads(document.text, reads)
    for finding in convert(text, path, plain, rewrite=False, project=project).findings:
        read = by_line.get(finding.line)
        if read is None or finding.kind not in (Kind.CONVERTED, Kind.UNSAFE, Kind.MANUAL):
            continue
        message, now, new = finding.message.rstrip(".").partition(NOW)
        advice = f"Write {new} here too." if now else finding.advice
        advice = f"{advice} {UNSEEN}"
        yield Finding(finding.code, Kind.MANUAL, f"{message}.", advice, read.line, read.column, path, read.cell)


def _with_reads(text: str, reads: list[Read]) -> tuple[str, dict[int, Read]]:
    """A text that prints expressions in statements of their own, and by the number of its line which each is."""
    before = defaultdict[int, list[Read]](list)
    for read in reads:
        before[read.stand_in].append(read)
    lines, by_line = list[str](), dict[int, Read]()
    for number, line in enumerate(text.split("\n"), 1):
        for read in before.get(number, ()):
            lines.append(f"{line[: len(line) - len(line.lstrip())]}print({read.source})")  # only its text counts
            by_line[len(lines)] = read
        lines.append(line)
    return "\n".join(lines), by_line


def _reads(document: Document) -> Iterator[Read]:
    """The expressions with an attribute, a call or an item in lines that names stand for in the text."""
    for number, text in enumerate(document.text.split("\n"), 1):
        if not any(
            "mask" in found[0] and text[found.end() : found.end() + 1] != ";" for found in STAND_INS.finditer(text)
        ):
            continue  # or a magic before Python, `%time train()`, which is read itself
        place = document.place(number, 1)
        for line, written in enumerate(_lines(document.lines_of(place.cell), place.line - 1), place.line):
            for found in EXPRESSION.finditer(written):
                source = found["braces"] or found["dollar"]
                if _is_read(source):
                    yield Read(source, place.cell, line, found.start() + 2, number)


def _lines(lines: list[str], index: int) -> Iterator[str]:
    """A line, and those that it goes on in."""
    yield lines[index]
    while lines[index].endswith("\\") and index + 1 < len(lines):
        index += 1
        yield lines[index]


def _is_read(source: str) -> bool:
    """Whether a text is an expression of one line that asks an object for something."""
    try:
        parsed = ast.parse(source.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return False
    return isinstance(parsed, (ast.Attribute, ast.Call, ast.Subscript)) and source.strip() == source
