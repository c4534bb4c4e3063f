"""What a call is given, and what it calls, as it is written: nothing is followed."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    from raymigrate.facts.syntax.module import Module


def argument(call: ast.Call, position: int, *names: str) -> ast.expr | None:
    """An argument that may be given by position or by any of these names; None where it is not seen."""
    if len(call.args) > position and not has_starred(call.args[: position + 1]):
        return call.args[position]
    return keyword_argument(call, *names)


def keyword_argument(call: ast.Call, *names: str) -> ast.expr | None:
    """An argument that is given by one of these names; None where there is none."""
    return next((keyword.value for keyword in call.keywords if keyword.arg in names), None)


def keyword_named(call: ast.Call, name: str) -> ast.keyword | None:
    """The keyword that gives an argument; None where there is none."""
    return next((keyword for keyword in call.keywords if keyword.arg == name), None)


def named_arguments(call: ast.Call, parameters: Sequence[str] = ()) -> dict[str, ast.expr]:
    """The arguments of a call by name; without those that are unpacked, and those by position after them.

    Args:
        call: The call.
        parameters: What the function takes by position, in order; without them, those given by name alone are seen.
    """
    named = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    seen = takewhile(lambda given: not isinstance(given, ast.Starred), call.args)
    return dict(zip(parameters, seen, strict=False)) | named


def all_arguments(call: ast.Call) -> list[ast.expr]:
    """All that a call is given, by position and by name, in source order."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def has_starred(values: Iterable[ast.expr]) -> bool:
    """Whether some of several arguments or items are unpacked, `*rest`, so that it is not seen how many there are."""
    return any(isinstance(value, ast.Starred) for value in values)


def last_name(node: ast.AST | None) -> str:
    """The name that an expression is, or ends with: `open`, `read_text` of `path.read_text`; empty of any other."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


class NamedCall(ast.Call):
    """The type of `name(...)`; no node is of this class."""

    func: ast.Name


def is_call_by_name(node: object, *names: str) -> TypeGuard[NamedCall]:
    """Whether a node is `name(...)` with one of these names, whatever the name stands for."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


class MethodCall(ast.Call):
    """The type of `owner.method(...)`; no node is of this class."""

    func: ast.Attribute


def is_method_call(node: object, *methods: str) -> TypeGuard[MethodCall]:
    """Whether a node is `owner.method(...)` with one of these methods, whatever the owner is."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in methods


def called_name(module: Module, node: ast.AST | None) -> str:
    """The qualified name of what a node calls; empty where it calls nothing that is imported, or is no call."""
    return (module.qualified(node.func) or "") if isinstance(node, ast.Call) else ""


def has_unpacking(call: ast.Call) -> bool:
    """Whether a call has arguments that cannot be seen."""
    return has_starred(call.args) or bool(unpacked_dicts(call))


def unpacked_dicts(call: ast.Call) -> list[ast.expr]:
    """What a call is given behind `**`, in source order."""
    return [keyword.value for keyword in call.keywords if keyword.arg is None]


def free_name(module: Module, node: ast.AST) -> str:
    """The name that an expression is where nothing binds it, such as that of a builtin; empty of any other."""
    if not isinstance(node, ast.Name) or node not in module.scope_of:
        return ""
    return "" if module.scope_of[node].lookup(node.id) else node.id
