"""Lists of loggers that are put together: `[a] if track else []`, `loggers.append(a)`, `callbacks=make_loggers()`."""

import ast
from itertools import takewhile

from raymigrate.codemods.tracking.user_callbacks import LOGGERS
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import COMPREHENSIONS, LOOPS
from raymigrate.facts.values import called_name, fillings

HOLDS = (ast.List, ast.Tuple, ast.Starred, ast.IfExp, ast.BoolOp, ast.BinOp, ast.NamedExpr)
AGAIN = (*LOOPS, *COMPREHENSIONS)
PUT = ("append", "extend", "insert")


def is_written_out(module: Module, listed: ast.keyword) -> bool:
    """Whether the callbacks of a RunConfig stand in one list, each of them for sure and by its own call or name."""
    if isinstance(listed.value, ast.Name) and fillings(module, listed.value):
        return False
    value = module.value(listed.value)
    if not isinstance(value, (ast.List, ast.Tuple)):
        return False
    items = (module.value(item) for item in value.elts)
    return all(called_name(module, item) in LOGGERS for item in items)


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


def serves_again(module: Module, made: ast.expr, fit: ast.Call) -> bool:
    """Whether fit() may run several times with one logger: a loop is around it, or its function is called again.

    Args:
        module: The module.
        made: The logger, for which `serves_only` holds.
        fit: The call of fit().
    """
    home = module.function(fit)
    while (function := module.function(made)) not in (None, home):
        calls = module.calls_of(function)
        if len(calls) != 1:
            return True
        made = calls[0]  # of the function that makes it
    calls = [] if function is home else module.calls_of(home)
    return len(calls) > 1 or any(_repeats(module, place, made) for place in (fit, *calls))


def _repeats(module: Module, place: ast.expr, made: ast.expr) -> bool:
    """Whether a loop runs a place, but not what makes a logger."""
    inner: ast.AST = place
    for outer in module.ancestors(place):
        is_run_once = isinstance(inner, ast.comprehension) or inner is getattr(outer, "iter", None)
        if isinstance(outer, AGAIN) and not is_run_once and not module.inside(made, outer):
            return True
        inner = outer
    return False


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
