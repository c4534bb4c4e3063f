"""In which mode a script opens a file: `open(path, "w")`, `path.open("a")`."""

import ast

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument
from raymigrate.facts.values.constants import constants

WRITING = ("w", "a", "x")  # how the modes begin in which a file is written; it may be read too


def opens_to_write(module: Module, call: ast.Call) -> bool:
    """Whether a call of open() surely opens a file to write it, whatever its mode can be.

    Args:
        module: The module.
        call: The call, of the function of Python or of the method of a path.
    """
    mode = argument(call, int(isinstance(call.func, ast.Name)), "mode")
    known = {text for _, text in constants(module, mode)} if mode is not None else set()
    return bool(known) and all(isinstance(text, str) and text.startswith(WRITING) for text in known)
