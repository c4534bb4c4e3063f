"""What Python finds wrong with a module once it is parsed."""

import ast
import warnings
from collections.abc import Collection

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import DEFINITIONS


def compile_error(module: Module, known: Collection[str] = ()) -> str:
    """What Python finds only once a module is parsed, such as an argument that is given twice; else empty.

    Args:
        module: The module.
        known: What `definitions` gives of another module: functions and classes of which that need not be asked again.
    """
    futures = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in module.imports)
    known = () if futures else known  # which have to stand above all others
    kept = [node for node in module.tree.body if not (known and _definition(module, node) in known)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of somebody's code, and not ours to report
        try:
            compile(ast.Module(kept, []), "<text>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        except SyntaxError as error:
            return error.msg
        except (RecursionError, MemoryError, ValueError):
            return ""  # it parsed, and that is all that can be said
    return ""


def definitions(module: Module) -> frozenset[str]:
    """The functions and classes at the top of a module, as they are written."""
    return frozenset(filter(None, (_definition(module, node) for node in module.tree.body)))


def _definition(module: Module, node: ast.stmt) -> str:
    """The lines of a function or class, with its decorators; empty for another statement."""
    if not isinstance(node, DEFINITIONS):
        return ""
    first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
    return "".join(module.lines_with_ends[first - 1 : node.end_lineno])
