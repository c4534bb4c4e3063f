"""The value of an expression, where it can be seen without running the program."""

from __future__ import annotations

import ast
import operator
import os.path
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.values.arguments import has_starred, is_call_by_name, is_method_call
from raymigrate.facts.values.behind import Source

if TYPE_CHECKING:
    from raymigrate.facts.syntax.module import Module

OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}
DISPLAYS = (ast.List, ast.Tuple, ast.Set)
PATHS = ("pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath")
# Enums of texts whose members are called like their values (transformers 4.30 and 5.23, trainer_utils.py); the class of
# schedulers has one that is not.
MEMBER = lazy_regex(
    r"transformers\.(?:trainer_utils\.)?(?:IntervalStrategy|EvaluationStrategy|SaveStrategy|HubStrategy|SchedulerType)"
    r"\.(?P<name>[A-Z0-9_]+)(?:\.value)?"
)
OTHER_VALUES = {"REDUCE_ON_PLATEAU": "reduce_lr_on_plateau"}


class Unknown(Exception):
    """An expression whose value is not known before the program runs."""


def constant(module: Module, node: ast.expr) -> object:
    """The value of an expression, where everything that it can come from has the same; else `...`."""
    try:
        return _value(module, node, ())
    except (Unknown, ArithmeticError, ValueError, TypeError, RecursionError, MemoryError):
        return ...


def written(node: ast.expr | None) -> object:
    """The value of a literal that stands in its place itself, None where there is none; `...` for all else.

    A name may stand for a switch that its owner turns. Code that comes out differently by a value asks here, and keeps
    the expression of what is not written there.
    """
    if node is None:
        return None
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return ...


def is_none(node: ast.expr | None) -> bool:
    """Whether an argument is not given, or given as None."""
    return node is None or (isinstance(node, ast.Constant) and node.value is None)


def constants(module: Module, node: ast.expr) -> list[tuple[Source, object]]:
    """Each expression that a value can come from, with what it comes to: `...` where that is unknown."""
    return [(source, constant(source.module, source.node)) for source in module.origins(node)]


def known_text(module: Module, node: ast.expr | None) -> str:
    """The text that an expression is; empty where it is none, or not known."""
    found = constant(module, node) if node is not None else None
    return found if isinstance(found, str) else ""


def leading_text(module: Module, node: ast.expr) -> str:
    """The text that a string or path begins with, as far as it is known: "/mnt/" of `f"/mnt/{user}/runs"`."""
    return known_text(*head(module, node))


def trailing_text(module: Module, path: ast.expr) -> str:
    """The text that a path ends with, as far as it is known: "/model.bin" of `f"{folder}/model.bin"`."""
    for source in module.origins(path):
        node = source.node
        while True:
            if isinstance(node, ast.Call) and node.args:
                node = node.args[-1]
            elif isinstance(node, ast.BinOp):
                node = node.right
            elif isinstance(node, ast.JoinedStr) and node.values:
                node = node.values[-1]
            else:
                break
        text = source.module.constant(node)
        if isinstance(text, str):
            return text
    return ""


def head(module: Module, node: ast.expr) -> Source:
    """The expression that a string or path begins with: `base` of `os.path.join(base, name)`, of `f"{base}/name"`."""
    seen = set[ast.expr]()
    while node not in seen:
        seen.add(node)
        source = _single(module, node)
        module, node = source.module, source.node
        if constant(module, node) is ...:
            node = _first_part(module, node) or node
    return Source(module, node)


def _first_part(module: Module, node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.JoinedStr) and node.values:
        first = node.values[0]
        return first.value if isinstance(first, ast.FormattedValue) else first
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Div)):
        return node.left
    template: ast.expr | None = None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        template = node.left
    if isinstance(node, ast.Call):
        name = module.qualified(node.func)
        is_str = is_call_by_name(node, "str")
        if node.args and (name in (*PATHS, "os.path.join", "os.fspath") or is_str):
            return node.args[0]
        if is_method_call(node, "format"):
            template = node.func.value
    text = constant(module, template) if template is not None else ...
    return ast.copy_location(ast.Constant(re.split("[{%]", text)[0]), node) if isinstance(text, str) else None


def _single(module: Module, node: ast.expr) -> Source:
    """The one expression that a value comes from; itself where there are several."""
    found = module.origins(node)
    return found[0] if len(found) == 1 else Source(module, node)


def _value(module: Module, node: ast.expr, above: tuple[ast.expr, ...]) -> object:
    """What an expression comes to.

    Args:
        above: The expressions whose value is being asked for.

    Raises:
        Unknown: If that is not known.
    """
    if node in above:
        raise Unknown
    if isinstance(node, ast.Constant):
        return node.value
    above = (*above, node)
    found = module.origins(node)
    if [source.node for source in found] == [node]:
        return _computed(module, node, above)
    values = [_value(source.module, source.node, above) for source in found]
    if any(type(other) is not type(values[0]) or other != values[0] for other in values):
        raise Unknown
    return values[0]


def _computed(module: Module, node: ast.expr, above: tuple[ast.expr, ...]) -> object:
    def of(part: ast.expr) -> Any:
        return _value(module, part, above)

    if isinstance(node, DISPLAYS):
        parts = [of(part) for part in node.elts]
        return parts if isinstance(node, ast.List) else tuple(parts) if isinstance(node, ast.Tuple) else set(parts)
    if isinstance(node, ast.Dict) and None not in node.keys:
        return {of(key): of(value) for key, value in zip(node.keys, node.values, strict=True) if key is not None}
    entries = module.entries(node)
    if entries is not None:
        return {name: of(value) for name, value in entries.items()}
    if isinstance(node, ast.UnaryOp):
        operand = of(node.operand)
        return not operand if isinstance(node.op, ast.Not) else -operand if isinstance(node.op, ast.USub) else operand
    if isinstance(node, ast.BinOp):
        return _combined(node, of(node.left), of(node.right))
    if isinstance(node, ast.JoinedStr):
        return "".join(_formatted(part, of) for part in node.values)
    if isinstance(node, ast.Call):
        return _called(module, node, of)
    if isinstance(node, ast.Attribute) and (member := MEMBER.fullmatch(module.qualified(node) or "")):
        return OTHER_VALUES.get(member["name"], member["name"].lower())
    raise Unknown


def _combined(node: ast.BinOp, left: Any, right: Any) -> object:
    if isinstance(node.op, ast.Div) and isinstance(left, str) and isinstance(right, str):
        return os.path.join(left, right)  # noqa: PTH118 - of a pathlib.Path
    numbers = isinstance(left, (int, float)) and isinstance(right, (int, float))
    if type(node.op) not in OPERATORS or not (numbers or isinstance(node.op, ast.Add)):
        raise Unknown
    return OPERATORS[type(node.op)](left, right)


def _formatted(part: ast.expr, of: Callable[[ast.expr], Any]) -> str:
    if isinstance(part, ast.FormattedValue):
        if part.format_spec is not None or part.conversion != -1:
            raise Unknown
        return str(of(part.value))
    return str(of(part))


def _called(module: Module, call: ast.Call, of: Callable[[ast.expr], Any]) -> object:
    """What a call of a function comes to that only puts a path together."""
    if call.keywords or has_starred(call.args) or not call.args:
        raise Unknown
    name = module.qualified(call.func)
    if name == "os.path.join" or name in PATHS:
        return os.path.join(*(of(argument) for argument in call.args))  # noqa: PTH118 - a path of the script
    builtin = isinstance(call.func, ast.Name) and not module.scope_of[call.func].lookup(call.func.id)
    if (name == "os.fspath" or (builtin and call.func.id == "str")) and len(call.args) == 1:  # type: ignore[attr-defined]
        return str(of(call.args[0]))
    raise Unknown
