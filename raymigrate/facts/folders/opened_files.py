"""In which mode a script opens a file: `open(path, "w")`, `gzip.open(path, "wt")`, `path.open("a")`."""

import ast
import re

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument
from raymigrate.facts.values.constants import constants

WRITING = re.compile("[wax][bt+]*")  # modes in which a file is written; it may be read too


def opens_to_write(module: Module, call: ast.Call) -> bool:
    """Whether a call of open() surely opens a file to write it, whatever its mode can be.

    Args:
        module: The module.
        call: The call, of the function of Python, of one of a module, or of the method of a path.
    """
    mode = argument(call, 0 if is_method_of_path(module, call) else 1, "mode")
    known = {text for _, text in constants(module, mode)} if mode is not None else set()
    return bool(known) and all(isinstance(text, str) and WRITING.fullmatch(text) for text in known)


def is_method_of_path(module: Module, call: ast.Call) -> bool:
    """Whether a call of an open() is the method of an object, whose mode comes first, and not a function's."""
    return isinstance(call.func, ast.Attribute) and module.qualified(call.func) is None
