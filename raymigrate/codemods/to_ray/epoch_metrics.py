"""What an epoch of an Accelerate script can report: the numbers that the script shows or logs at its end."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from raymigrate.codemods.to_ray.script import executed
from raymigrate.facts.module import Module
from raymigrate.facts.values import argument, origins
from raymigrate.facts.values.members import options

NUMBERS = ("float", "int", "round", "len", "bool")
NUMBER_METHODS = ("item", "size", "numel")
PRINTS = ("print", "info", "write", "log", "warning")


@dataclass
class Metrics:
    """What a report says.

    Args:
        entries: Source of the entries of a dict, in their order.
        logged: The dict that the script logs at the end of an epoch, if it is the same.
    """

    entries: dict[str, str] = field(default_factory=dict)
    logged: ast.expr | None = None


def metrics_of(module: Module, loop: ast.For | ast.While, counters: Sequence[str]) -> Metrics:
    """The numbers that the script shows or logs at the end of an epoch, as far as they surely are numbers.

    Args:
        module: The module.
        loop: The loop over epochs.
        counters: The names that count the epochs, and the rounds of the loops around them.
    """
    found = Metrics({f'"{name}"': name for name in counters})
    for statement in loop.body:
        for call in _shown(module, statement):
            logged = argument(call, 0, "values")
            if isinstance(logged, ast.Dict) and isinstance(call.func, ast.Attribute) and call.func.attr == "log":
                if module.statement(call) in loop.body and _is_numbers(module, logged):
                    return Metrics(logged=logged)
            for value in _values(call):
                _add(module, loop, found, value)
    return found


def _shown(module: Module, statement: ast.stmt) -> Iterator[ast.Call]:
    """The calls at the end of an epoch that show something; not those for each batch."""
    if isinstance(statement, (ast.For, ast.While, ast.AsyncFor)):
        return
    for node in executed(module, statement):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if name in PRINTS:
                yield node


def _values(call: ast.Call) -> Iterator[ast.expr]:
    """The values that a call shows, in f-strings and dicts too."""
    waiting: list[ast.AST] = [*call.args, *(keyword.value for keyword in call.keywords)]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.FormattedValue):
            waiting.insert(0, node.value)
        elif isinstance(node, (ast.JoinedStr, ast.Dict, ast.Tuple, ast.BinOp)):
            waiting[:0] = list(ast.iter_child_nodes(node))
        elif isinstance(node, ast.expr):
            yield node


def _add(module: Module, loop: ast.For | ast.While, found: Metrics, value: ast.expr) -> None:
    """Adds a value that is shown, if it is a number or a dict of numbers that every worker has."""
    name = value
    if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name) and _is_scores(module, value.value):
        name = value.value
    if not isinstance(name, ast.Name) or not _is_bound_on_every_worker(module, loop, name):
        return
    if _is_scores(module, name):
        found.entries[f"**{name.id}"] = ""
    elif _is_number(module, name, set()):
        found.entries.setdefault(f'"{name.id}"', name.id)


def _is_bound_on_every_worker(module: Module, loop: ast.For | ast.While, name: ast.Name) -> bool:
    """Whether a name gets its value in each epoch, on each worker: by a statement right in the loop's body."""
    scope = module.scope_of[name].find(name.id)
    if scope is None:
        return False
    statements = [module.statement(binding.node) for binding in scope.bindings[name.id]]
    return any(statement in loop.body for statement in statements)


def _is_scores(module: Module, name: ast.expr) -> bool:
    """Whether a value is what `compute` of a metric gave, a dict of numbers."""
    calls = [source.node for source in origins(module, name)]
    return bool(calls) and all(
        isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "compute"
        for call in calls
    )


def _is_numbers(module: Module, display: ast.Dict) -> bool:
    return all(key is not None for key in display.keys) and all(
        _is_number(module, value, set()) or _is_scores(module, value) for value in display.values
    )


def _is_number(module: Module, node: ast.expr, seen: set[str], *, or_none: bool = False) -> bool:
    """Whether a value is a number of Python, and surely no tensor."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float)) or (or_none and node.value is None)
    if isinstance(node, ast.Call):
        name = module.qualified(node.func) or ""
        if isinstance(node.func, ast.Name) and node.func.id in NUMBERS:
            return True
        if getattr(node.func, "attr", "") in NUMBER_METHODS or name.startswith("math."):
            return True
        returned = origins(module, node)  # of a function of the project
        return all(s.node is not node and _is_number(s.module, s.node, seen) for s in returned)
    if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.IfExp)):
        parts = [node.left, node.right] if isinstance(node, ast.BinOp) else []
        parts += [node.operand] if isinstance(node, ast.UnaryOp) else []
        parts += [node.body, node.orelse] if isinstance(node, ast.IfExp) else []
        or_none |= isinstance(node, ast.BinOp)  # None would not get through it
        return all(_is_number(module, part, seen, or_none=or_none) for part in parts)
    if isinstance(node, ast.Subscript):
        return getattr(node.value, "attr", "") == "shape" or _is_scores(module, node.value)
    if isinstance(node, ast.Attribute):
        return _is_numeric_option(module, node, seen, or_none=or_none)
    return isinstance(node, ast.Name) and is_named_number(module, node, seen, or_none=or_none)


def _is_numeric_option(module: Module, node: ast.Attribute, seen: set[str], *, or_none: bool) -> bool:
    """Whether an attribute is an option of the command line that is read as a number, and stays one."""
    types = [argument(call, len(call.args), "type") for call in options(module, node.attr)]
    is_read = [isinstance(given, ast.Name) and given.id in ("int", "float") for given in types]
    values = [source for source in origins(module, node) if source.node is not node]
    return (
        bool(is_read)
        and all(is_read)
        and bool(values)
        and all(_is_number(value.module, value.node, seen, or_none=or_none) for value in values)
    )


def is_named_number(module: Module, name: ast.Name, seen: set[str], *, or_none: bool = False) -> bool:
    """Whether a name only ever gets numbers, or None too; those in `seen` are taken for such."""
    scope = module.scope_of[name].find(name.id)
    if scope is None or name.id in seen:
        return scope is not None
    values = [_bound_value(module, binding.node) for binding in scope.bindings[name.id]]
    return all(value is not None and _is_number(module, value, {*seen, name.id}, or_none=or_none) for value in values)


def _bound_value(module: Module, node: ast.AST) -> ast.expr | None:
    """What a name is given; the step of a loop over a range is a number."""
    parent = module.parent_of[node]
    if isinstance(parent, (ast.Assign, ast.AugAssign)):  # `a = b = 0` too; not a tuple of targets
        return parent.value
    if isinstance(parent, (ast.For, ast.comprehension)) and parent.target is node:
        is_range = isinstance(parent.iter, ast.Call) and getattr(parent.iter.func, "id", "") == "range"
        return ast.Constant(0) if is_range else None
    return module.assigned(node)
