"""Lists of loggers that are put together: `[a] if track else []`, `loggers.append(a)`, `callbacks=make_loggers()`."""

import ast
from itertools import takewhile

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import fillings

HOLDS = (ast.List, ast.Tuple, ast.Starred, ast.IfExp, ast.BoolOp, ast.BinOp, ast.NamedExpr)
PUT = ("append", "extend", "insert")


def is_written_out(module: Module, listed: ast.keyword) -> bool:
    """Whether the callbacks of a RunConfig stand in one list, each of them for sure."""
    if isinstance(listed.value, ast.Name) and fillings(module, listed.value):
        return False
    value = module.value(listed.value)
    if not isinstance(value, (ast.List, ast.Tuple)):
        return False
    return all(isinstance(module.value(item), ast.Call) for item in value.elts)


def serves_only(module: Module, made: ast.expr, listed: ast.keyword) -> bool:
    """Whether an expression is used for nothing but the callbacks of a RunConfig.

    It may get there by names, by lists that hold it or are filled with it, and by functions that are called for it.

    Args:
        module: The module.
        made: The expression.
        listed: The callbacks of the RunConfig.
    """
    waiting: list[ast.expr] = [made]
    for node in waiting:  # which grows meanwhile
        if module.inside(node, listed) or _is_filled(module, node):
            continue
        given_to = _given_to(module, node)
        uses: list[ast.expr] = [*module.uses_of(given_to)]
        if isinstance(given_to, ast.FunctionDef):
            calls = module.calls_of(given_to)
            if len(calls) != 1 or len(uses) != 1:
                return False
            uses = [*calls]
        elif not isinstance(given_to, ast.Name) or isinstance(module.parent_of[module.statement(node)], ast.ClassDef):
            return False  # what reads an attribute of a class is not asked for here
        waiting += [use for use in uses if use not in waiting]
    return True


def _given_to(module: Module, node: ast.expr) -> ast.AST | None:
    """The name that gets an expression, as it is or in a list, or the function that returns it; None of other uses."""
    statement = module.statement(node)
    around = list(takewhile(lambda parent: parent is not statement, module.ancestors(node)))
    given_to: ast.AST | None = None
    match statement:
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            given_to = target
        case ast.Return():
            given_to = module.function(statement)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=method)) as call) if method in PUT:
            given_to = owner if around[-1:] == [call] else None
            around = around[:-1]
    return given_to if all(isinstance(part, HOLDS) for part in around) else None


def _is_filled(module: Module, node: ast.expr) -> bool:
    """Whether a name stands there to have something put into its list."""
    return isinstance(node, ast.Name) and module.statement(node) in fillings(module, node)
