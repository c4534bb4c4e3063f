"""Metrics of datasets and evaluate: which one an object is, and which values are parts of its results."""

import ast
from collections.abc import Collection

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, constants, is_call_by_name, is_method_call

LOAD_METRIC = ("datasets.load_metric", "datasets.load.load_metric")
LOAD = ("evaluate.load", "evaluate.loading.load")
DEEPEST = 10  # steps from a part of a result back to the result
IN_THEIR_ORDER = ("sorted", "reversed", "list", "tuple")


def loaded(module: Module, call: ast.expr, by: Collection[str] = (*LOAD_METRIC, *LOAD)) -> set[str]:
    """The metrics that a call may load, by their names.

    Args:
        module: The module.
        call: The call.
        by: What it has to call.

    Returns:
        The names; none where it calls something else, or they cannot be seen.
    """
    if not isinstance(call, ast.Call) or module.qualified(call.func) not in by:
        return set()
    named = argument(call, 0, "path")
    values = [value for _, value in constants(module, named)] if named is not None else []
    return {value.rpartition("/")[2] for value in values if isinstance(value, str)}


def metrics_of(module: Module, node: ast.expr, by: Collection[str] = (*LOAD_METRIC, *LOAD)) -> set[str]:
    """The metrics that an object may be, by their names; see `loaded`."""
    return {name for source in module.origins(node) for name in loaded(source.module, source.node, by)}


def depth_in_result(module: Module, node: ast.expr, metric: str, steps: int = 0) -> int | None:
    """How deep a value lies in what `compute` of a metric gave.

    Args:
        module: The module.
        node: The value.
        metric: The name of the metric.
        steps: How many steps led here.

    Returns:
        0 for the dict itself, 1 for its values, 2 for the items of those that are lists; None if it is no part of one.
    """
    if steps > DEEPEST:
        return None
    depths = (_depth(source.module, source.node, metric, steps) for source in module.origins(node))
    return next((depth for depth in depths if depth is not None), None)


def _depth(module: Module, node: ast.expr, metric: str, steps: int) -> int | None:
    if is_method_call(node, "compute"):
        return 0 if metric in metrics_of(module, node.func.value) else None
    whole, of_dict = _whole(module, node)
    around = depth_in_result(module, whole, metric, steps + 1) if whole is not None else None
    return None if around is None or (around == 0) is not of_dict else around + 1


def _whole(module: Module, node: ast.expr) -> tuple[ast.expr | None, bool]:
    """What a value is read from, and whether by its key in a dict; of a name, what a loop takes its values from."""
    if isinstance(node, ast.Subscript):
        return node.value, not isinstance(module.constant(node.slice), int)
    if is_method_call(node, "get", "pop"):
        return node.func.value, True
    target = module.definition(node)
    place = module.parent_of.get(target) if target is not None else None
    pair = place if isinstance(place, ast.Tuple) and place.elts[1:] == [target] else None
    loop = module.parent_of[pair] if pair is not None else place
    if not isinstance(loop, (ast.For, ast.comprehension)) or loop.target is not (pair or target):
        return None, False
    values = loop.iter
    while is_call_by_name(values, *IN_THEIR_ORDER):
        values = values.args[0]
    method = values.func if isinstance(values, ast.Call) else None
    if isinstance(method, ast.Attribute) and method.attr == ("values" if pair is None else "items"):
        return method.value, True
    return (values, False) if pair is None else (None, False)
