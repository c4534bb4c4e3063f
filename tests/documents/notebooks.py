"""Notebooks for the tests: scripts turned into cells, and every way in which editors write them down."""

from __future__ import annotations

import ast
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Notebook = dict[str, Any]

OUTPUTS = [
    {"name": "stdout", "output_type": "stream", "text": ["from ray.air import session\n", "é 训练 \u2028 </script>\n"]},
    {
        "data": {"image/png": "iVBORw0KGgo=\n", "text/plain": ["<Figure>"]},
        "metadata": {},
        "output_type": "display_data",
    },
]


def notebook(cells: Sequence[str]) -> Notebook:
    """A notebook with a cell of prose at its head, outputs, and metadata in no particular order."""
    content: list[dict[str, Any]] = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# ray.train.huggingface\n", "TransformersTrainer"]}
    ]
    for number, source in enumerate(cells, 1):
        content.append(
            {
                "outputs": OUTPUTS if number % 2 else [],
                "cell_type": "code",
                "source": re.findall(r"[^\n]*\n|[^\n]+\Z", source),
                "metadata": {"tags": ["x"]} if number % 3 == 0 else {},
                "execution_count": number,
            }
        )
    return {"nbformat": 4, "metadata": {"kernelspec": {"language": "python"}}, "cells": content, "nbformat_minor": 4}


def with_source(content: Notebook, form: Callable[[list[str]], object]) -> Notebook:
    """The same notebook with another form of each source."""
    cells = [{**cell, "source": form(cell["source"])} for cell in content["cells"]]
    return {**content, "cells": cells}


SERIALISATIONS: dict[str, Callable[[Notebook], str]] = {
    "indent 1": lambda n: json.dumps(n, indent=1, ensure_ascii=False) + "\n",
    "indent 2": lambda n: json.dumps(n, indent=2, ensure_ascii=False) + "\n",
    "compact": lambda n: json.dumps(n, ensure_ascii=False, separators=(",", ":")) + "\n",
    "ASCII": lambda n: json.dumps(n, indent=1) + "\n",
    "CRLF": lambda n: (json.dumps(n, indent=1, ensure_ascii=False) + "\n").replace("\n", "\r\n"),
    "one string": lambda n: json.dumps(with_source(n, "".join), indent=1, ensure_ascii=False) + "\n",
    "a list of one string": lambda n: json.dumps(with_source(n, lambda s: ["".join(s)] if s else []), indent=1) + "\n",
    "no final newline": lambda n: json.dumps(n, indent=1, ensure_ascii=False),
    "sorted keys": lambda n: json.dumps(n, indent="\t", sort_keys=True) + "\n",
}


def cells_of(text: str, seed: int = 0) -> list[str]:
    """Cuts a script into cells between its statements."""
    chance = random.Random(seed)
    lines = text.splitlines(keepends=True)
    cells = [""]
    last = 0
    for start, stop in _statements(text):
        if cells[-1].strip() and chance.random() < 0.5:
            cells.append("")
        cells[-1] += "".join(lines[last:stop])
        last = max(stop, last)
        assert start
    cells[-1] += "".join(lines[last:])
    return [cell.strip("\n") for cell in cells if cell.strip()]


def _statements(text: str) -> Iterator[tuple[int, int]]:
    """First and last line of each statement that shares no line with another."""
    reached = 0
    for node in ast.parse(text).body:
        assert node.end_lineno
        if node.lineno > reached:
            yield node.lineno, node.end_lineno
        reached = node.end_lineno


def sources(data: bytes) -> list[list[str]]:
    """The source lines of each cell, with their ends."""
    cells = json.loads(data.decode("utf-8-sig"))["cells"]
    return [re.findall(r"[^\n]*\n|[^\n]+\Z", "".join(cell["source"])) for cell in cells]
