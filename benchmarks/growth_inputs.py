"""Inputs of any size: scripts, notebooks, projects."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

IMPORT = "from ray.air import session\n"
REPORT = "session.report({})\n"
USE = IMPORT + REPORT  # something to convert, so that the whole way through the tool is taken
Files = Callable[[int], dict[str, str]]


@dataclass(frozen=True)
class Case:
    """Something that there can be many of.

    Args:
        name: What it is.
        size: How many are measured first; then twice and four times as many.
        files: Gives the texts of the files, by name.
        arguments: Options of the command.
    """

    name: str
    size: int
    files: Files
    arguments: tuple[str, ...] = ()

    def write(self, folder: Path, number: int) -> None:
        """Writes the files with so many of it into a folder."""
        for name, text in self.files(number).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def copies(text: str, number: int) -> list[str]:
    """So many copies of a text, each with its number for `<n>`."""
    return [text.replace("<n>", str(index)) for index in range(number)]


def script(text: str, head: str = USE, foot: str = "") -> Files:
    """A script with many copies of a text."""
    return lambda number: {"train.py": head + "".join(copies(text, number)) + foot}


def notebook(cell: str, head: str = USE, foot: str = "") -> Files:
    """A notebook with many copies of a cell."""
    return lambda number: {"train.ipynb": notebook_of(filter(None, [head, *copies(cell, number), foot]))}


def notebook_of(cells: Iterable[str]) -> str:
    kind = {"cell_type": "code", "metadata": {}, "outputs": []}
    code_cells = [{**kind, "source": cell.splitlines(keepends=True)} for cell in cells]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": code_cells}, indent=1)


def parted(edge: str, text: str, head: str = "") -> Files:
    """A script of cells."""
    return lambda number: {"train.py": head + edge.join([USE, *copies(text, number)])}


def project(text: str, name: str, **others: str) -> Files:
    """Many copies of a file, beside others, which have their names without `.py`."""
    beside = {f"{other}.py": content for other, content in others.items()}
    return lambda number: (
        beside | {name.replace("<n>", str(n)): text.replace("<n+1>", str(n + 1)) for n in range(number)}
    )


def beside(name: str, line: str, head: str = "", foot: str = "", *, script: str = USE) -> Files:
    """A script, and another file of many lines."""
    return lambda number: {"train.py": script, name: head + "".join(copies(line, number)) + foot}
