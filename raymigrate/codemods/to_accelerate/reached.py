"""What a function of another file asks of a model that it gets, and its wrapper for several processes lacks."""

import ast
from typing import TypeGuard

from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.values import is_call_by_name

# What stays as it is on the wrapped model: nn.Module has it, and it means the same there.
OF_WRAPPED = frozenset({"train", "eval", "parameters", "zero_grad", "modules", "training", "buffers"})
INNER = "module"  # where DistributedDataParallel keeps the model


def reached(function: ast.FunctionDef, parameter: str) -> set[str]:
    """The attributes that the model or its wrapper alone has, and that a function reads whichever of them it got.

    Those that depend on a test are not among them: `model.module if hasattr(model, "module") else model`.
    """
    tested: set[ast.AST] = set()
    for choice in ast.walk(function):
        if isinstance(choice, (ast.If, ast.IfExp)) and _asks_for_wrapper(choice.test, parameter):
            inside = list(ast.walk(choice))
            if any(_unwraps(node, parameter) for node in inside):
                return set()  # from there on it is the model itself
            tested.update(inside)
    return {
        node.attr
        for node in ast.walk(function)
        if _is_of(node, parameter) and node.attr not in OF_WRAPPED and node not in tested
    }


def _is_of(node: ast.AST | None, parameter: str) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == parameter


def _asks_for_wrapper(test: ast.expr, parameter: str) -> bool:
    """Whether a condition asks what a model is: `hasattr(model, "module")`, `isinstance(model, DDP)`."""
    calls = [part for part in ast.walk(test) if is_call_by_name(part, "hasattr", "isinstance")]
    return any(isinstance(first, ast.Name) and first.id == parameter for call in calls for first in call.args[:1])


def _unwraps(node: ast.AST, parameter: str) -> bool:
    """Whether a name stands for the model without its wrapper from here on: `model = model.module`."""
    if not is_assignment(node) or not _is_of(node.value, parameter) or node.value.attr != INNER:
        return False
    return parameter in map(ast.unparse, targets_of(node))
