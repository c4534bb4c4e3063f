"""What an epoch of an Accelerate script can report: the numbers that the script shows or logs at its end."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from raymigrate.codemods.to_ray.script import executed
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.torch.tensors import as_number
from raymigrate.facts.values import all_arguments, argument, is_method_call, last_name
from raymigrate.facts.values.carried import carried
from raymigrate.facts.values.numbers import is_number, is_scores

PRINTS = ("print", "info", "write", "log", "warning", "add_scalar")


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
            if isinstance(logged, ast.Dict) and is_method_call(call, "log"):
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
            if last_name(node.func) in PRINTS:
                yield node


def _values(call: ast.Call) -> Iterator[ast.expr]:
    """The values that a call shows, in f-strings and dicts too."""
    waiting: list[ast.AST] = [*all_arguments(call)]
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
    if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name) and _has_numbers(module, value.value):
        name = value.value
    if not isinstance(name, ast.Name) or not _is_bound_on_every_worker(module, loop, name):
        return
    if _is_another_at_end(module, loop, name):
        return
    if _has_numbers(module, name):
        found.entries[f"**{name.id}"] = ""
    elif (number := as_number(module, name)) is not None:
        found.entries.setdefault(f'"{name.id}"', number.replace("$value", name.id))


def _has_numbers(module: Module, name: ast.Name) -> bool:
    """Whether a name is that of a dict with numbers alone: of scores, or made of them."""
    if is_scores(module, name):
        return True
    known = carried(module, name)
    return known.whole and bool(known.entries) and all(is_number(e.module, e.value) for e in known.entries)


def _is_bound_on_every_worker(module: Module, loop: ast.For | ast.While, name: ast.Name) -> bool:
    """Whether a name gets its value in each epoch, on each worker: by a statement right in the loop's body."""
    statements = [module.statement(binding.node) for binding in module.bindings_of(name)]
    return any(statement in loop.body for statement in statements)


def _is_another_at_end(module: Module, loop: ast.For | ast.While, name: ast.Name) -> bool:
    """Whether a name has another value where the loop's body ends, which is where it is reported, or none."""
    bound = [binding.node for binding in module.bindings_of(name)]
    bound = [node for node in bound if not isinstance(module.statement(node), ast.AugAssign)]
    parts = [part for statement in module.of_type(ast.Delete) for part in ast.walk(statement)]
    bound += [p for p in parts if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Del) and p.id == name.id]
    return any(module.inside(node, loop) and module.start(node) > module.start(name) for node in bound)


def _is_numbers(module: Module, display: ast.Dict) -> bool:
    return all(key is not None for key in display.keys) and all(
        is_number(module, value) or is_scores(module, value) for value in display.values
    )
