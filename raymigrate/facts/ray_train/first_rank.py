"""Which code the worker of rank 0 alone runs, as a condition says."""

import ast

from raymigrate.facts.projects.environment import variable_read
from raymigrate.facts.syntax.functions import on_every_way
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import LEAVES, before, is_negation
from raymigrate.facts.syntax.scopes import FUNCTIONS
from raymigrate.facts.values import called_name, is_call_by_name

FIRST = frozenset({"is_world_process_zero", "is_main_process", "is_world_master"})  # the last up to transformers 3
RANK_FUNCTIONS = frozenset({"get_world_rank", "get_rank"})
RANK_ATTRIBUTES = frozenset({"process_index", "rank"})  # of Accelerator and TrainingArguments; own ones
RANK_VARIABLE = "RANK"
OUTER = (*FUNCTIONS, ast.ClassDef)


def is_for_first_rank(module: Module, node: ast.AST) -> bool:
    """Whether no other worker than that of rank 0 comes to a node, also where its function is called by this one alone.

    Args:
        module: The module.
        node: The node.
    """

    def function_of(place: ast.AST) -> ast.FunctionDef | None:
        outer = next((parent for parent in module.ancestors(place) if isinstance(parent, OUTER)), None)
        is_top = isinstance(outer, ast.FunctionDef) and isinstance(module.parent_of[outer], ast.Module)
        return outer if is_top else None  # type: ignore[return-value]

    return on_every_way(node, lambda place: _is_asked_for(module, place), function_of, module.uses_of)


def _is_asked_for(module: Module, node: ast.AST) -> bool:
    """Whether a condition within its function keeps all other workers from a node."""
    child = node
    for parent in module.ancestors(node):
        if isinstance(parent, (ast.If, ast.IfExp)) and child is not parent.test:
            body = parent.body if isinstance(parent.body, list) else [parent.body]
            if _asks(module, parent.test, first=child in body):
                return True
        if isinstance(child, ast.stmt) and _sent_away(module, parent, child):
            return True
        if isinstance(parent, OUTER):
            return False
        child = parent
    return False


def _sent_away(module: Module, parent: ast.AST, statement: ast.stmt) -> bool:
    """Whether the others leave a block before they come to a statement of it: `if rank != 0: return`."""
    return any(
        isinstance(other, ast.If) and isinstance(other.body[-1], LEAVES) and _asks(module, other.test, first=False)
        for other in before(parent, statement)
    )


def _asks(module: Module, test: ast.expr, *, first: bool) -> bool:
    """Whether a condition holds on rank 0 alone; or, for `first=False`, on every other rank at least."""
    if is_negation(test):
        return _asks(module, test.operand, first=not first)
    if isinstance(test, ast.BoolOp):
        return isinstance(test.op, ast.And if first else ast.Or) and any(
            _asks(module, part, first=first) for part in test.values
        )
    if isinstance(test, ast.Name):
        value = module.value(test)
        if value is not test and not isinstance(value, ast.Name):
            return _asks(module, value, first=first)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compares(module, test, first=first)
    if not first and _is_rank(module, test):
        return True  # zero is false
    named = test.func if isinstance(test, ast.Call) else test
    return first and isinstance(named, ast.Attribute) and named.attr in FIRST


def _compares(module: Module, test: ast.Compare, *, first: bool) -> bool:
    more: type[ast.cmpop] = ast.Gt
    left, right = test.left, test.comparators[0]
    if _is_rank(module, right):
        left, right, more = right, left, ast.Lt
    if not _is_rank(module, left) or module.constant(right) not in (0, "0"):
        return False
    return isinstance(test.ops[0], ast.Eq if first else (ast.NotEq, more))


def _is_rank(module: Module, node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        value = module.value(node)
        return value is not node and not isinstance(value, ast.Name) and _is_rank(module, value)
    if isinstance(node, ast.Attribute):
        return node.attr in RANK_ATTRIBUTES
    if variable_read(module, node) == RANK_VARIABLE:
        return True
    if not isinstance(node, ast.Call):
        return False
    if is_call_by_name(node, "int") and len(node.args) == 1:
        return _is_rank(module, node.args[0])
    last = called_name(module, node) or (node.func.attr if isinstance(node.func, ast.Attribute) else "")
    return last.rpartition(".")[2] in RANK_FUNCTIONS
