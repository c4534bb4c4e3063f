"""The largest number of workers among those that a search space offers, as an expression."""

import ast

from raymigrate.facts.ray_tune.tuners import TunerCall
from raymigrate.facts.syntax.module import Module

PLAIN = (ast.Name, ast.Attribute, ast.Constant, ast.BinOp, ast.operator, ast.expr_context)


def most_workers(tuner: TunerCall) -> str | None:
    """The source of the largest number of workers that a trial may have; None where it cannot be written.

    It is written by the names in it, which may stand for more one day, where they have their value before the trainer.

    Args:
        tuner: The Tuner over a trainer; a ScalingConfig in its param_space says how many workers there are.
    """
    module, offered, known = tuner.module, tuner.offered_workers, tuner.most_workers
    if offered is None or tuner.trainer is None:
        return None
    names = [node for node in ast.walk(offered) if isinstance(node, ast.Name)]
    if not names or not all(_is_bound_before(module, name, tuner.trainer) for name in names):
        return str(known) if known is not None else None
    if known is not None and isinstance(module.constant(offered), int):
        return module.source(offered)
    listed = offered.elts if isinstance(offered, (ast.List, ast.Tuple)) else []
    if known is None and not (listed and all(_may_be_number(module, item) for item in listed)):
        return None
    return f"max({', '.join(map(module.source, listed if len(listed) > 1 else [offered]))})"


def _may_be_number(module: Module, item: ast.expr) -> bool:
    """Whether what is offered can be written again, and is a whole number as far as it is seen."""
    value, parts = module.constant(item), list(ast.walk(item))
    numbers = [node.value for node in parts if isinstance(node, ast.Constant)]
    is_plain = all(isinstance(node, PLAIN) for node in parts)
    return is_plain and (value is ... or type(value) is int) and all(type(number) is int for number in numbers)


def _is_bound_before(module: Module, name: ast.Name, trainer: ast.Call) -> bool:
    """Whether a name has its one value before the statement that makes a trainer."""
    scope = module.scope_of[trainer].find(name.id)
    if scope is None or scope is not module.bound_in(name) or not module.is_bound_once(name):
        return False
    return module.start(scope.bindings[name.id][0].node) < module.start(module.statement(trainer))
