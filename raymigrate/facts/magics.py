"""Magics and shell lines of a notebook: a name stands for each, so that what they read is not seen."""

import ast

from raymigrate.documents.cells import STAND_INS
from raymigrate.facts.module import Module


def magics_in(module: Module, block: ast.AST) -> list[ast.Name]:
    """What stands for magics and shell lines in a block: `!cp -r {folder} /final`, `files = !ls {folder}`.

    Those before a statement of Python, `%time train()`, are left out: that statement is seen.
    """
    names = (node for node in ast.walk(block) if isinstance(node, ast.Name) and "mask" in node.id)
    return [name for name in names if STAND_INS.fullmatch(name.id) and not _heads_statement(module, name)]


def _heads_statement(module: Module, name: ast.Name) -> bool:
    line, column = module.end(name)
    return module.lines[line - 1][column:].startswith(";")
