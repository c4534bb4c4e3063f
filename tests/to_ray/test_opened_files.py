"""In which mode a file is opened, as what is written by one worker asks for it."""

import ast

import pytest

from raymigrate.facts.folders.opened_files import opens_to_write
from raymigrate.facts.syntax.module import Module


@pytest.mark.parametrize(
    ("call", "writes"),
    [
        ('open(path, "w")', True),
        ('open(path, mode="ab")', True),
        ('path.open("x+t")', True),
        ('store.open("annotations.json")', False),  # of a file system, or of a zip: no mode, a name
        ('store.open("weights.bin", "rb")', False),
        ('open(path, "r+")', False),
        ("open(path, mode)", False),
    ],
)
def test_a_mode_is_no_name_of_a_file(call: str, writes: bool) -> None:
    module = Module(f"{call}\n")
    [opened] = module.of_type(ast.Call)
    assert opens_to_write(module, opened) is writes
