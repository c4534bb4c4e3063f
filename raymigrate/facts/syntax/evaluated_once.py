"""Whether an expression can be evaluated in a statement of its own, before the one that it is in."""

import ast

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_elif
from raymigrate.facts.syntax.scopes import COMPREHENSIONS


def is_evaluated_once(module: Module, node: ast.expr) -> bool:
    """Whether a node is evaluated whenever its statement is reached: not later, as in a lambda, often, or at times."""
    inner: ast.AST = node
    for outer in module.ancestors(node):
        if isinstance(outer, ast.stmt):
            is_message = isinstance(outer, ast.Assert) and inner is outer.msg
            return not is_message and not isinstance(outer, ast.While) and not is_elif(outer, module.parent_of[outer])
        if isinstance(outer, ast.Lambda) or (isinstance(outer, COMPREHENSIONS) and inner is not outer.generators[0]):
            return False
        if isinstance(outer, ast.comprehension) and inner is not outer.iter:
            return False
        if isinstance(outer, ast.IfExp) and inner is not outer.test:
            return False
        if isinstance(outer, ast.BoolOp) and inner is not outer.values[0]:
            return False
        inner = outer
    return True
