"""RM858: options and settings by which somebody chooses the device: the Accelerator does not read them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.devices import Devices
from raymigrate.codemods.to_accelerate.rules import RM858
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import FUNCTIONS
from raymigrate.facts.values import all_arguments, is_call_by_name

MACHINE = "torch."  # what torch says of a machine is no choice: the Accelerator asks it too
OF_PROCESSES = lazy_regex(r"rank|world|distributed|ddp", re.IGNORECASE)
BUILTINS = ("bool", "int", "len", "hasattr", "getattr", "any", "all")
JOINED = (ast.BoolOp, ast.Compare, ast.UnaryOp)


def tell_choices(changes: Changes, devices: Devices) -> None:
    """Tells once of an option that chose the device: `--no-cuda`, `use_gpu` of a configuration.

    Args:
        changes: The edits of the conversion.
        devices: The devices, which have told already of what they take apart.
    """
    module = devices.module
    if devices.tells_of_choice:
        return
    tests = sorted(_tests(devices), key=module.start)
    for found in (choice for test in tests if (choice := _chosen(module, test)) is not None):
        message = f"The Accelerator chooses the device: `{ast.unparse(found)}` has no effect on it any more."
        changes.note(RM858, found, f"{message} Accelerator(cpu=True) stays on the CPU.")
        return


def _chosen(module: Module, node: ast.expr, seen: frozenset[ast.AST] = frozenset()) -> ast.expr | None:
    """The part of a condition by which somebody chooses; None where it asks only for what the machine has.

    Args:
        module: The module.
        node: The condition, or a part of it.
        seen: The names that led here.
    """
    if node in seen or isinstance(node, ast.Constant) or OF_PROCESSES.search(ast.unparse(node)):
        return None
    called = node.func if isinstance(node, ast.Call) else node
    if f"{module.qualified(called) or ''}.".startswith(MACHINE):
        return None
    if isinstance(called, ast.Name) and called.id == "isinstance":  # what is moved, and not where it goes
        return None
    if isinstance(node, JOINED):
        parts = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        return _first(module, parts, seen)
    if is_call_by_name(node, *BUILTINS):
        return _first(module, node.args, seen)
    sources = module.origins(node)
    if any(source.node is node for source in sources):
        return node
    is_off = any(isinstance(source.node, ast.Constant) and not source.node.value for source in sources)
    inner = (_chosen(source.module, source.node, seen | {node}) for source in sources)
    return node if is_off or any(inner) else None


def _first(module: Module, parts: Iterable[ast.expr], seen: frozenset[ast.AST]) -> ast.expr | None:
    return next(filter(None, (_chosen(module, part, seen) for part in parts)), None)


def _tests(devices: Devices) -> Iterator[ast.expr]:
    """The conditions by which a device gets its name, or something is moved to one."""
    module = devices.module
    for variable in devices.held:
        for binding in devices.variables.bindings(variable):
            value = module.assigned(binding)
            yield from _tests_in(value) if value is not None else ()
            yield from _tests_around(module, module.statement(binding))
            function = devices.variables.called(value) if isinstance(value, ast.Call) else None
            yield from _tests_in(function) if function is not None else ()
    for move in devices.moves():
        yield from (test for value in all_arguments(move) for test in _tests_in(value))
        yield from (parent.test for parent in module.ancestors(move) if isinstance(parent, ast.IfExp))
        yield from (test for test in _tests_around(module, module.statement(move)) if _only_moves(devices, test))


def _tests_in(node: ast.AST) -> Iterator[ast.expr]:
    yield from (part.test for part in ast.walk(node) if isinstance(part, (ast.If, ast.IfExp)))


def _tests_around(module: Module, statement: ast.stmt) -> Iterator[ast.expr]:
    for parent in module.ancestors(statement):
        if isinstance(parent, FUNCTIONS):
            return
        if isinstance(parent, ast.If) and "__name__" not in ast.unparse(parent.test):
            yield parent.test


def _only_moves(devices: Devices, test: ast.expr) -> bool:
    """Whether what runs under a condition does nothing but move things to a device."""
    branch = devices.module.parent_of[test]
    moves = set(devices.moves())
    return isinstance(branch, ast.If) and all(
        isinstance(statement, (ast.Assign, ast.Expr)) and any(part in moves for part in ast.walk(statement))
        for statement in branch.body
    )
