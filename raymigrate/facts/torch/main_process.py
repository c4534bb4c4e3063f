"""Which code the main process of a distributed run alone comes to, as functions of any file of the project ask it."""

from __future__ import annotations

import ast

from raymigrate.facts.projects.environment import variable_read
from raymigrate.facts.syntax.functions import returned_values
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import LEAVES, before, is_negation
from raymigrate.facts.syntax.scopes import FUNCTIONS
from raymigrate.facts.values import is_call_by_name, is_method_call
from raymigrate.facts.values.arguments import called_name
from raymigrate.facts.values.calls import called_function

RANKS = ("torch.distributed.get_rank", "torch.distributed.get_node_local_rank")
RANK_VARIABLES = ("RANK", "LOCAL_RANK")
# Methods of a Trainer, the last two up to transformers 3, and properties of its state.
OF_TRAINERS = frozenset({"is_world_process_zero", "is_local_process_zero", "is_world_master", "is_local_master"})
MAIN = frozenset({"is_main_process", "is_local_main_process", *OF_TRAINERS})  # besides, of accelerate's objects
RANK_ATTRIBUTES = frozenset({"rank", "local_rank", "process_index", "local_process_index"})
LIMITS = {ast.LtE: 0, ast.Lt: 1}  # `rank <= 0`, `rank < 1`
FIRST_OR_ONLY = ([-1, 0], [0, -1], (-1, 0), (0, -1), {-1, 0}, [0], (0,), {0})
IS_THERE = ("torch.distributed.is_initialized", "torch.distributed.is_available")
Seen = frozenset[ast.AST]


def is_for_main(module: Module, node: ast.AST, seen: Seen = frozenset()) -> bool:
    """Whether the main process alone comes to a node in its function, by an `if` around it or by one that leaves.

    Args:
        module: The module.
        node: The node.
        seen: The tests that were asked about already.
    """
    child = node
    for parent in module.ancestors(node):
        body = parent.body if isinstance(parent, ast.If) else [parent.body] if isinstance(parent, ast.IfExp) else []
        if child in body and asks_for_main(module, parent.test, seen):  # type: ignore[attr-defined]
            return True
        if isinstance(child, ast.stmt) and _others_left(module, parent, child, seen):
            return True
        if isinstance(parent, FUNCTIONS):
            return False
        child = parent
    return False


def _others_left(module: Module, parent: ast.AST, statement: ast.stmt, seen: Seen) -> bool:
    """Whether all other processes leave a block before a statement of it: `if not is_main(): return`."""
    return any(
        isinstance(step, ast.If) and isinstance(step.body[-1], LEAVES) and _asks_for_others(module, step.test, seen)
        for step in before(parent, statement)
    )


def _asks_for_others(module: Module, test: ast.expr, seen: Seen) -> bool:
    """Whether a test holds in every process but the main one: `not is_main()`, `rank != 0`, `rank > 0`, `rank`."""
    if is_negation(test):
        return asks_for_main(module, test.operand, seen)
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.NotEq, ast.Gt)):
        return module.constant(test.comparators[0]) == 0 and is_rank(module, test.left, seen)
    return is_rank(module, test, seen)


def asks_for_main(module: Module, test: ast.expr, seen: Seen = frozenset()) -> bool:
    """Whether a test holds in the main process alone, or in a run that has no other."""
    if test in seen:
        return False
    seen |= {test}
    if isinstance(test, ast.BoolOp):
        parts = [part for part in test.values if not _asks_for_no_group(module, part)]
        every = any if isinstance(test.op, ast.And) else all
        return bool(parts) and every(asks_for_main(module, part, seen) for part in parts)
    if isinstance(test, ast.IfExp):
        return asks_for_main(module, test.body, seen) and module.constant(test.orelse) is True
    if isinstance(test, ast.Name) and (value := module.value(test)) is not test:
        return asks_for_main(module, value, seen)
    if isinstance(test, ast.Name):  # a parameter, for which each call may give such a test
        given = module.origins(test)
        return bool(given) and all(asks_for_main(source.module, source.node, seen) for source in given)
    if isinstance(test, ast.Attribute):
        return test.attr in MAIN
    if is_negation(test):
        return is_rank(module, test.operand, seen)
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        sides = ((test.left, test.comparators[0]), (test.comparators[0], test.left))
        return any(module.constant(zero) in (0, "0") and is_rank(module, rank, seen) for rank, zero in sides)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:  # -1 stands for a run of one process
        bound, limit = module.constant(test.comparators[0]), LIMITS.get(type(test.ops[0]))
        is_first = bound in FIRST_OR_ONLY if isinstance(test.ops[0], ast.In) else limit is not None and bound == limit
        return is_first and is_rank(module, test.left, seen)
    if isinstance(test, ast.Call):
        if is_method_call(test, *OF_TRAINERS):
            return True
        home, answers = _answers(module, test)
        asked = [answer for answer in answers if home.constant(answer) not in (True, False)]
        if asked:
            return all(asks_for_main(home, answer, seen) for answer in asked)
        true = [answer for answer in answers if home.constant(answer) is True]
        return bool(true) and all(is_for_main(home, answer, seen) for answer in true)
    return False


def _asks_for_no_group(module: Module, test: ast.expr) -> bool:
    """`not dist.is_initialized()`, beside which a test of the rank counts for nothing in a run of one process."""
    inner = test.operand if is_negation(test) else None
    return called_name(module, inner) in IS_THERE


def is_rank(module: Module, node: ast.expr, seen: Seen = frozenset()) -> bool:
    """Whether an expression is the number of a process, or 0 in a run that has one."""
    if node in seen:
        return False
    seen |= {node}
    if isinstance(node, ast.Name):
        ends = [end for end in module.origins(node) if end.module.constant(end.node) != 0]
        return bool(ends) and all(end.node is not node and is_rank(end.module, end.node, seen) for end in ends)
    if isinstance(node, ast.IfExp):
        return is_rank(module, node.body, seen) and module.constant(node.orelse) == 0
    if isinstance(node, ast.Attribute):
        return node.attr in RANK_ATTRIBUTES
    if variable_read(module, node) in RANK_VARIABLES:
        return True
    if not isinstance(node, ast.Call):
        return False
    if is_call_by_name(node, "int") and len(node.args) == 1:
        return is_rank(module, node.args[0], seen)
    if called_name(module, node) in RANKS:
        return True
    home, answers = _answers(module, node)
    ranks = [answer for answer in answers if home.constant(answer) != 0]
    return bool(ranks) and all(is_rank(home, rank, seen) for rank in ranks)


def _answers(module: Module, call: ast.Call) -> tuple[Module, list[ast.expr]]:
    """What a function of the project returns to a call, with its module; nothing where it is not seen whole."""
    home, function = called_function(module, call, elsewhere=True)
    if not isinstance(function, (ast.FunctionDef, ast.Lambda)):
        return module, []
    values = returned_values(home, function)
    found = [value for value in values if value is not None]
    return home, found if len(found) == len(values) else []
