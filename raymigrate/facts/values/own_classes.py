"""The class that code in a class speaks of without its name: by `self`, `cls`, `type(self)` and `self.__class__`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from raymigrate.facts.syntax.functions import by_position
from raymigrate.facts.values.arguments import free_name
from raymigrate.facts.values.lineages import derived

if TYPE_CHECKING:
    from raymigrate.facts.syntax.module import Module

COPIES = ("copy.copy", "copy.deepcopy")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def class_of_self(module: Module, node: ast.expr) -> ast.ClassDef | None:
    """The class whose method has an expression as its `self`."""
    found, function, home = first_of_method(module, node)
    if function is None:
        return None
    if function.decorator_list and not is_property(function) and found is not None and found.arg != "self":
        return None  # a classmethod, or what some library calls with something else
    return home


def class_of_cls(module: Module, node: ast.expr) -> ast.ClassDef | None:
    """The class whose classmethod has an expression as its `cls`."""
    _, function, home = first_of_method(module, node)
    decorators = function.decorator_list if function is not None else []
    return home if any(ast.unparse(decorator) == "classmethod" for decorator in decorators) else None


def classes_made(module: Module, call: ast.Call) -> list[ast.ClassDef]:
    """The classes of which a call in a class makes an object: `cls()`, `type(self)()`, `self.__class__()`, a copy.

    They are the class around it, and those of the module that are derived from it; none for any other call.
    """
    function = call.func
    home = class_of_cls(module, function)
    if isinstance(function, ast.Attribute) and function.attr == "__class__":
        home = class_of_self(module, function.value)
    elif isinstance(function, ast.Call) and free_name(module, function.func) == "type":
        home = class_of_self(module, function.args[0]) if len(function.args) == 1 else None
    elif module.qualified(function) in COPIES and call.args:
        home = class_of_self(module, call.args[0])
    return derived(module).get(home, [home]) if home is not None else []


def is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a method is read as an attribute."""
    names = [ast.unparse(decorator).rpartition(".")[2] for decorator in function.decorator_list]
    return names in (["property"], ["cached_property"])


def first_of_method(
    module: Module, node: ast.expr
) -> tuple[ast.arg | None, ast.FunctionDef | ast.AsyncFunctionDef | None, ast.ClassDef | None]:
    """The first parameter of a method that an expression reads, with the method and its class; else nothing."""
    found = module.definition(node)
    function = module.parent_of[module.parent_of[found]] if isinstance(found, ast.arg) else None
    home = module.parent_of.get(function) if isinstance(function, FUNCTIONS) else None
    if not isinstance(found, ast.arg) or not isinstance(function, FUNCTIONS) or not isinstance(home, ast.ClassDef):
        return None, None, None
    return (found, function, home) if by_position(function)[:1] == [found] else (None, None, None)
