"""A training whose step is in another file: `engine.train_one_epoch(loader)` beside the Accelerator that it gets."""

import ast
from dataclasses import dataclass

from raymigrate.facts.projects.callees import callees
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import is_method_call

Loop = ast.For | ast.While
Way = list[tuple[Module, ast.AST]]


@dataclass(frozen=True)
class TrainedElsewhere:
    """A call that trains in another file.

    Args:
        call: The call.
        path: The file that it calls.
        loops: The loops around the step there, the inner ones first.
    """

    call: ast.Call
    path: str
    loops: list[Loop]


@kept
def trained_elsewhere(module: Module) -> TrainedElsewhere | None:
    """The first call of a function of another file that trains, itself or by what it calls."""
    seen = set[ast.AST]()
    for call in module.of_type(ast.Call) if module.project is not None else ():
        for callee in callees(module, call.func):
            if callee.function is None or callee.module is module:
                continue
            if way := _way(callee.module, callee.function, seen):
                loops = [loop for home, node in reversed(way) for loop in _loops(home, node)]
                return TrainedElsewhere(call, callee.module.path, loops)
    return None


def is_backward(node: ast.AST) -> bool:
    """Whether a node is `accelerator.backward(loss)`."""
    return is_method_call(node, "backward") and bool(node.args)


def _way(module: Module, function: ast.AST, seen: set[ast.AST]) -> Way:
    """The calls that lead from a function to the step, each with its file; none where it does not train."""
    if function in seen:
        return []
    seen.add(function)
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    for call in filter(is_backward, calls):
        return [(module, call)]
    for call in calls:
        for callee in callees(module, call.func):
            way = _way(callee.module, callee.function, seen) if callee.function is not None else []
            if way:
                return [(module, call), *way]
    return []


def _loops(module: Module, node: ast.AST) -> list[Loop]:
    """The loops around a node in its function, the inner ones first."""
    function = module.function(node)
    around = (parent for parent in module.ancestors(node) if isinstance(parent, (ast.For, ast.While)))
    return [loop for loop in around if function is None or module.inside(loop, function)]
