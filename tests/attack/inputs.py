"""Input that no person wrote, and that Python or Jupyter takes all the same."""

import json
from typing import Any

from tests.test_faults import SMALL

SHAPES = {
    "parentheses": "x = " + "(" * 190 + "1" + ")" * 190,
    "lists": "x = " + "[" * 199 + "]" * 199,
    "dicts": "x = " + "{1: " * 150 + "1" + "}" * 150,
    "assigned expressions": "x = " + "(a := " * 100 + "1" + ")" * 100,
    "comprehensions": "x = " + "[" * 60 + "1" + " for a in b]" * 60,
    "subscripts": "x = a" + "[0]" * 250,
    "conditional expressions": "x = " + "1 if a else " * 250 + "2",
    "signs": "x = " + "-" * 250 + "1",
    "attributes": "x = a" + ".b" * 290,
    "branches": "if f:\n    pass\n" + "elif f:\n    pass\n" * 290,
    "50,000 attributes": "x = a" + ".b" * 50_000,
    "3,000 calls": "x = a" + "()" * 3_000,
    "900 conditional expressions": "x = " + "1 if a else " * 900 + "2",
    "a sum of 10,000": "x = " + "1 + " * 10_000 + "2",
    "5,000 lambdas": "x = " + "lambda: " * 5_000 + "1",
    "90 functions in each other": "".join(f"{' ' * n}def f{n}():\n" for n in range(90)) + " " * 90 + "pass",
    "1,900 functions in each other": "".join(f"{' ' * n}def f{n}():\n" for n in range(1_900)) + " " * 1_900 + "pass",
    "3,000 functions": "".join(f"def f{n}(): pass\n" for n in range(3_000)),
    "3,000 decorators": "@d\n" * 3_000 + "def g(): pass",
    "a dict of 10,000 lines": "x = {\n" + "".join(f"    {n}: {n},\n" for n in range(10_000)) + "}",
    "3,000 items of a with": "with " + ", ".join(["a"] * 3_000) + ": pass",
    "3,000 cases": "match f:\n" + "".join(f"    case {n}: pass\n" for n in range(3_000)),
    "a comparison of 10,000": "x = 1" + " < 2" * 10_000,
    "100,000 number signs": "#" * 100_000,
    "10,000 lines of number signs": ("#" * 78 + "\n") * 10_000,
    "a comment with 50,000 blanks": "x = 1  #" + " " * 50_000 + "x",
    **{
        f"50,000 times {sign} in a comment and in a string": f"# {sign * 50_000} a\nx = '{sign * 50_000}'"
        for sign in "-=.:*[{("
    },
    "4,000 lines that go on": "x = 1 " + "\\\n" * 4_000 + "+ 2",
}
STORED = {
    "NUL": SMALL.encode() + b"\0\n",
    "a carriage return for a line end": SMALL.replace("\n", "\r").encode(),
    "line ends of several kinds": SMALL.replace("\n", "\r\n", 2).encode() + b"x = 1\ry = 2\n",
    "form feeds and tabs": SMALL.encode() + b"\x0c\nif f:\n\tx = 1 \x0c\n",
    "a vertical tab": SMALL.encode() + b"# \x0b\n",
    "line ends of Unicode": SMALL.encode() + "x = 'a\x85b\u2028c'\n".encode(),
    "a byte order mark against its cookie": b"\xef\xbb\xbf# coding: latin-1\n" + SMALL.encode(),
    "two cookies": b"# coding: utf-8\n# coding: latin-1\n" + SMALL.encode(),
    "no end of the last line": SMALL.encode().rstrip(b"\n"),
    "an end of file of DOS": SMALL.encode() + b"\x1a",
    "UTF-16": SMALL.encode("utf-16"),
}
_CELL: dict[str, Any] = {
    "cell_type": "code",
    "execution_count": None,
    "metadata": {},
    "outputs": [],
    "source": SMALL.splitlines(keepends=True),
}
_NOTEBOOK: dict[str, Any] = {"cells": [_CELL], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def _with(**changes: Any) -> str:
    return json.dumps({**_NOTEBOOK, **changes})


def _with_cell(**changes: Any) -> str:
    return _with(cells=[_CELL, {**_CELL, **changes}])


NOTEBOOKS = {
    **{f"cells that are {value!r}": _with(cells=value) for value in (None, "a", {}, 5, [None], ["a"], [[]], [5])},
    **{f"a source that is {value!r}": _with_cell(source=value) for value in (None, 5, {}, [5], [None], [["a"]], True)},
    **{f"outputs that are {value!r}": _with_cell(outputs=value) for value in (None, "a", {"a": 1}, [None])},
    **{f"a type that is {value!r}": _with_cell(cell_type=value) for value in (None, 5, [], "other")},
    **{f"a format that is {value!r}": _with(nbformat=value) for value in (None, 2, 3, 5, "4", 4.0, [4])},
    **{f"metadata that are {value!r}": _with(metadata=value) for value in (None, [], "a", {"kernelspec": 5})},
    "no format": json.dumps({"cells": [_CELL]}),
    "a key that is there twice": _with().replace('"metadata"', '"cells": [], "metadata"', 1),
    "half a surrogate": _with_cell(source="x = '\ud800'\n"),
    "a number that is none": _with(more=float("nan")),
    "half of it": _with()[:-30],
    "lists in each other": _with().replace("null", "[" * 900 + "]" * 900),
}
PAGES = {
    "a block that does not end": f"```python\n{SMALL}",
    "blocks in each other": f"````\n```python\n{SMALL}```\n````\n",
    "100,000 ticks": f"{'`' * 100_000}python\n{SMALL}",
    "50,000 quotes": f"{'>' * 50_000} ```python\n{SMALL}```\n",
    "a comment of HTML": f"<!--\n```python\n{SMALL}```\n-->\n",
    "a block of rst without an end": ".. code-block:: python\n\n"
    + "".join(f"    {line}\n" for line in SMALL.split("\n")),
}
