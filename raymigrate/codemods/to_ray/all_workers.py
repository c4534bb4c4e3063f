"""What all workers have to run together: an evaluation by the Trainer waits until each of them is in it.

Below a condition on the rank it would wait for ever. It may be in a function that the statement calls.
"""

from __future__ import annotations

import ast

from raymigrate.codemods.to_ray.script import executed
from raymigrate.codemods.to_ray.trainer_calls import is_trainer
from raymigrate.facts.projects.callees import callees
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import FunctionNode

DEPTH = 3  # functions that call each other


def needs_all(module: Module, code: ast.AST, depth: int = DEPTH) -> bool:
    """Whether some code calls a method of a Trainer, itself or in what it calls; also where that cannot be seen."""
    calls = (node for node in executed(module, code) if isinstance(node, ast.Call))
    return any(_is_method_of_trainer(module, call) or (depth and _leads_there(module, call, depth)) for call in calls)


def leads_to(module: Module, code: ast.AST, function: FunctionNode, depth: int = DEPTH) -> bool:
    """Whether some code calls a function, itself or in what it calls."""
    for call in (node for node in executed(module, code) if isinstance(node, ast.Call)):
        for callee in callees(module, call.func):
            if callee.function is function:
                return True
            if (
                depth
                and callee.function is not None
                and any(leads_to(callee.module, part, function, depth - 1) for part in _body(callee.function))
            ):
                return True
    return False


def _is_method_of_trainer(module: Module, call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and is_trainer(module, call.func.value)


def _leads_there(module: Module, call: ast.Call, depth: int) -> bool:
    for callee in callees(module, call.func):
        if callee.function is not None:
            if any(needs_all(callee.module, part, depth - 1) for part in _body(callee.function)):
                return True
        elif callee.is_unknown and any(is_trainer(module, value) for value in _given(call)):
            return True
    return False


def _body(function: FunctionNode) -> list[ast.AST]:
    return [*function.body] if isinstance(function.body, list) else [function.body]


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]
