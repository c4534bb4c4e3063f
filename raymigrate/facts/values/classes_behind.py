"""Classes of a library that a name stands for that is not an import: `cls` of `def load(path, cls=Checkpoint)`."""

import ast
from collections.abc import Collection

from raymigrate.facts.syntax.module import Module

MAKES = ".from_"  # what methods begin with that make an object


def class_called(module: Module, call: ast.expr, names: Collection[str]) -> str | None:
    """What a call calls by a name of an import, or of the classes that another name can stand for.

    Of these it is the class, or a method that makes an object.

    Args:
        module: The module.
        call: The call: `cls(path)`, `cls.from_directory(path)`.
        names: The qualified names of the classes. All that the name can stand for have to be among them.

    Returns:
        Its qualified name; None for any other expression.
    """
    function = call.func if isinstance(call, ast.Call) else None
    if function is not None and (imported := module.qualified(function)) is not None:
        return imported
    owner = function.value if isinstance(function, ast.Attribute) else function
    method = f".{function.attr}" if isinstance(function, ast.Attribute) else ""
    if method and not method.startswith(MAKES):
        return None
    if not isinstance(owner, (ast.Name, ast.Attribute)) or module.qualified(owner) is not None:
        return None
    found = [source.module.qualified(source.node) for source in module.origins(owner) if source.node is not owner]
    first = found[0] if found and all(name in names for name in found) else None
    return f"{first}{method}" if first is not None else None
