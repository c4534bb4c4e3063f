"""Files that a script names relative to itself or to the folder it is started in."""

import ast
import os
from pathlib import Path

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.packages import is_below, upwards
from raymigrate.facts.values import called_name, is_call_by_name, is_method_call

PATH_CLASSES = ("pathlib.Path", "pathlib.PurePath")
UNCHANGED = ("os.path.abspath", "os.path.realpath", "os.path.expanduser", "os.fspath")


def place_of(script: str | Path) -> Path:
    """Where a script is, which may be named from another folder: `../train.py`."""
    return Path(os.path.abspath(script))  # noqa: PTH100 - absolute() leaves the dots


def file_named(module: Module, node: ast.expr, script: str) -> Path | None:
    """The file that an expression stands for.

    Understands literals, `Path(__file__).parent / "name"`, `os.path.join(os.path.dirname(__file__), "name")` and the
    like. A relative path is looked up beside the script, and above it, up to the folder of its project: a module of a
    package may be run from there.

    Args:
        module: The module the expression is in.
        node: The expression.
        script: Path of the module's file.

    Returns:
        The path, or None if the expression is none of these.
    """
    path = _path(module, node, Path(script))
    return None if path is None else _found(module, path.expanduser(), script)


def _found(module: Module, path: Path, script: str) -> Path:
    beside = Path(script).parent / path
    if path.is_absolute() or not script or module.project is None or beside.exists():
        return beside
    top = module.project.folder(script)
    folders = upwards(str(place_of(script).parent))
    above = (Path(folder) / path for folder in folders if is_below(folder, top))
    return next((file for file in above if file.is_file()), beside)


def _path(module: Module, node: ast.expr, script: Path) -> Path | None:
    text = module.constant(node)
    if isinstance(text, str):
        return Path(text)
    node = module.value(node)
    if isinstance(node, ast.Name) and node.id == "__file__":
        return place_of(script)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return _joined(module, [node.left, node.right], script)
    if isinstance(node, ast.Attribute) and node.attr == "parent":
        path = _path(module, node.value, script)
        return path.parent if path is not None else None
    return _call(module, node, script) if isinstance(node, ast.Call) else None


def _call(module: Module, node: ast.Call, script: Path) -> Path | None:
    name = called_name(module, node)
    if is_method_call(node, "resolve", "absolute", "expanduser"):
        return _path(module, node.func.value, script)
    if not node.args:
        return None
    if name in (*PATH_CLASSES, "os.path.join"):
        return _joined(module, node.args, script)
    if name == "os.path.dirname":
        path = _path(module, node.args[0], script)
        return path.parent if path is not None else None
    if name in UNCHANGED or is_call_by_name(node, "str"):
        return _path(module, node.args[0], script)
    return None


def _joined(module: Module, nodes: list[ast.expr], script: Path) -> Path | None:
    parts = [_path(module, node, script) for node in nodes]
    known = [part for part in parts if part is not None]
    return Path(*known) if len(known) == len(parts) else None
