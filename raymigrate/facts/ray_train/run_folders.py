"""Paths in the folder of a run: the result whose folder one begins with, and what it names there."""

import ast
from collections.abc import Sequence

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source

# What makes the same folder, or one in it, of its first argument, and of the object whose method it is.
OF_ARGUMENT = ("os.path.join", "os.path.abspath", "os.path.expanduser", "os.path.realpath", "os.fspath", "pathlib.Path")
OF_OWNER = ("joinpath", "resolve", "absolute", "expanduser", "as_posix")
DEEPEST = 8  # folders of folders


def texts(source: Source) -> str:
    """The literal parts of a path, from left to right."""
    module = source.module
    values = (module.constant(n) for n in ast.walk(source.node) if isinstance(n, (ast.Constant, ast.Name)))
    return "/".join(text.strip("/") for text in values if isinstance(text, str))


def results_of_folder(folder: Source, attributes: Sequence[str] = ("path", "log_dir"), depth: int = 0) -> list[Source]:
    """The results with whose folder a path begins: `result.path`, `result.log_dir`.

    Args:
        folder: The path.
        attributes: Under which of these names the folder is read.
        depth: How many parts of the path led here.
    """
    found: list[Source] = []
    for origin in folder.module.origins(folder.node) if depth < DEEPEST else ():
        module, node = origin.module, origin.node
        if isinstance(node, ast.Attribute) and node.attr in attributes:
            found.append(Source(module, node.value))
        elif (head := head_of(module, node)) is not None:
            found += results_of_folder(Source(module, head), attributes, depth + 1)
    return found


def head_of(module: Module, path: ast.expr) -> ast.expr | None:
    """What a path begins with; None where nothing is seen before it."""
    if isinstance(path, ast.JoinedStr):
        first = path.values[0] if path.values else None
        return first.value if isinstance(first, ast.FormattedValue) else None
    if isinstance(path, ast.BinOp):
        return _filled_in(module, path.left, "%s", path.right) if isinstance(path.op, ast.Mod) else path.left
    if not isinstance(path, ast.Call):
        return None
    function = path.func
    if isinstance(function, ast.Attribute) and function.attr == "format":
        return _filled_in(module, function.value, "{}", *path.args)
    if isinstance(function, ast.Attribute) and function.attr in OF_OWNER:
        return function.value
    is_text = isinstance(function, ast.Name) and function.id == "str"
    return path.args[0] if path.args and (is_text or module.qualified(function) in OF_ARGUMENT) else None


def _filled_in(module: Module, template: ast.expr, place: str, *values: ast.expr) -> ast.expr | None:
    """What is put in the place with which a template begins: `"%s/logs" % folder`, `"{}/logs".format(folder)`."""
    text = module.constant(template)
    first = values[0] if values else None
    if isinstance(first, ast.Tuple):
        first = first.elts[0] if first.elts else None
    return first if isinstance(text, str) and text.startswith(place) else None
