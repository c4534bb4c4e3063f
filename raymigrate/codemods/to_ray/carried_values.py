"""What epochs hand on to each other besides the state of the Accelerator: the steps so far, the best score."""

import ast
from dataclasses import dataclass, field

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, names_in
from raymigrate.facts.syntax.scopes import Binding
from raymigrate.facts.values import is_call_by_name
from raymigrate.facts.values.numbers import is_named_number

LOOPS = (ast.For, ast.While)
BRANCHES = (ast.If, ast.Try)


@dataclass
class Carried:
    """Names that have a value before the first epoch, and may get another one in each.

    Args:
        numbers: Those that surely stand for numbers.
        others: Those that begin as a number or None and may become something else.
    """

    numbers: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)


def carried_values(module: Module, loop: ast.For) -> Carried:
    """The names whose values go from one epoch to the next.

    Args:
        module: The module.
        loop: The loop over epochs.
    """
    found = Carried()
    scope = module.scope_of[loop]
    for name, bindings in scope.bindings.items():
        inside = [binding for binding in bindings if module.inside(binding.node, loop)]
        before = [binding for binding in bindings if binding not in inside]
        if not inside or not before or not all(_is_carried(module, binding, loop) for binding in inside):
            continue
        targets = [binding.node for binding in bindings if isinstance(binding.node, ast.Name)]
        starts = [module.assigned(binding.node) for binding in before]
        if len(targets) == len(bindings) and is_named_number(module, targets[0], or_none=True):
            found.numbers.append(name)
        elif all(value is not None and is_number_or_none(module, value) for value in starts):
            found.others.append(name)
    return found


def _is_carried(module: Module, binding: Binding, loop: ast.For) -> bool:
    """Whether a binding in the loop may leave the value of the epoch before: it adds to it, or stands in a branch."""
    statement = module.statement(binding.node)
    if isinstance(statement, ast.AugAssign):
        return True
    if is_assignment(statement) and isinstance(binding.node, ast.Name):
        if binding.node.id in names_in(statement.value):
            return True
    for parent in module.ancestors(statement):
        if parent is loop:
            return False
        if isinstance(parent, BRANCHES):
            return is_assignment(statement)
    return False


def is_number_or_none(module: Module, node: ast.expr) -> bool:
    """Whether a value at the start is a number, None, or made of such: `float("inf")`."""
    if isinstance(node, ast.Constant):
        return node.value is None or (isinstance(node.value, (int, float)) and not isinstance(node.value, bool))
    if isinstance(node, ast.UnaryOp):
        return is_number_or_none(module, node.operand)
    if isinstance(node, ast.Attribute):
        return module.qualified(node) in ("math.inf", "numpy.inf", "torch.inf")
    return is_call_by_name(node, "float", "int")
