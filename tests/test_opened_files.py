"""Which calls of open() write: the builtin and functions of modules take the mode second, methods of paths first."""

import ast

import pytest

from raymigrate.facts.folders.opened_files import opens_to_write
from raymigrate.facts.syntax.module import Module

SCRIPT = """\
import gzip
import io
from pathlib import Path

mode = "a" if later else "w"
path = Path("out")
"""


def writes(call: str) -> bool:
    module = Module(f"{SCRIPT}{call}\n")
    (opened,) = (node for node in module.of_type(ast.Call) if ast.unparse(node.func).endswith("open"))
    return opens_to_write(module, opened)


@pytest.mark.parametrize(
    "call",
    [
        'open("out", "w")',
        'open("out", mode="x")',
        'open("out", mode)',
        'open("out", mode="ab")',
        'path.open("a")',
        'path.open("x+t")',
        'path.open(mode="w")',
        'gzip.open("out", "wt")',
        'io.open("out", "w")',
    ],
)
def test_writes(call: str) -> None:
    assert writes(call)


@pytest.mark.parametrize(
    "call",
    [
        'open("weights.bin")',
        'open("weights.bin", "rb")',
        'open("weights.bin", "r+")',
        'open("out", unknown)',
        "path.open()",
        'path.open("r")',
        'store.open("annotations.json")',  # of a file system, or of a zip: no mode, a name
        'store.open("weights.bin", "rb")',
        'gzip.open("weights.gz")',
        'gzip.open("weights.gz", "rt")',
    ],
)
def test_reads_or_may_read(call: str) -> None:
    assert not writes(call)
