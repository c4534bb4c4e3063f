"""Which values are numbers of Python for sure, and no tensors."""

import ast
from collections.abc import Collection

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, has_unpacking, is_method_call, origins
from raymigrate.facts.values.arguments import called_name, free_name
from raymigrate.facts.values.given import options

NUMBERS = ("float", "int", "round", "len", "bool")
OF_NUMBERS = ("max", "min", "abs")  # which give one of what they are given, or its size
NUMBER_METHODS = ("item", "size", "numel")
SCORES = lazy_regex(  # which give one number for all classes, or one for each, if they are asked for that
    r"(sklearn\.metrics|seqeval\.metrics)\.((balanced_|top_k_)?accuracy|f1|fbeta|precision|recall|average_precision"
    r"|roc_auc|jaccard|r2|cohen_kappa)_score|sklearn\.metrics\.(matthews_corrcoef|log_loss|hamming_loss"
    r"|(root_)?mean_(absolute|squared)(_log)?_error)"
)
FOR_EACH = {"average": None, "multioutput": "raw_values"}  # arguments by which they give an array


def is_scores(module: Module, name: ast.expr) -> bool:
    """Whether a value is what `compute` of a metric gave, a dict of numbers."""
    calls = [source.node for source in origins(module, name)]
    return bool(calls) and all(is_method_call(call, "compute") for call in calls)


def is_number(module: Module, node: ast.expr, seen: Collection[str] = (), *, or_none: bool = False) -> bool:
    """Whether a value is a number of Python, and surely no tensor.

    Args:
        module: The module.
        node: The value.
        seen: Names that are taken for numbers.
        or_none: Whether it may be None as well.
    """
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float)) or (or_none and node.value is None)
    if isinstance(node, ast.Call):
        name = called_name(module, node)
        if isinstance(node.func, ast.Name) and node.func.id in NUMBERS:
            return True
        if free_name(module, node.func) in OF_NUMBERS and node.args and not has_unpacking(node):
            is_list = len(node.args) == 1 and free_name(module, node.func) != "abs"  # max(losses)
            return not is_list and all(is_number(module, part, seen, or_none=or_none) for part in node.args)
        if getattr(node.func, "attr", "") in NUMBER_METHODS or name.startswith("math."):
            return True
        if SCORES.fullmatch(name):
            return _is_one_score(module, node)
        returned = origins(module, node)  # of a function of the project
        return all(s.node is not node and is_number(s.module, s.node, seen) for s in returned)
    if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.IfExp)):
        parts = [node.left, node.right] if isinstance(node, ast.BinOp) else []
        parts += [node.operand] if isinstance(node, ast.UnaryOp) else []
        parts += [node.body, node.orelse] if isinstance(node, ast.IfExp) else []
        or_none |= isinstance(node, ast.BinOp)  # None would not get through it
        return all(is_number(module, part, seen, or_none=or_none) for part in parts)
    if isinstance(node, ast.Subscript):
        return getattr(node.value, "attr", "") == "shape" or is_scores(module, node.value)
    if isinstance(node, ast.Attribute):
        return _is_numeric_option(module, node, seen, or_none=or_none)
    return isinstance(node, ast.Name) and is_named_number(module, node, seen, or_none=or_none)


def _is_one_score(module: Module, call: ast.Call) -> bool:
    """Whether a function of sklearn or seqeval gives one number; np.float64 is a float of Python too."""
    if has_unpacking(call) or len(call.args) > 2:
        return False
    given = {keyword.arg: module.constant(keyword.value) for keyword in call.keywords if keyword.arg in FOR_EACH}
    return all(isinstance(value, str) and value != FOR_EACH[name] for name, value in given.items())


def _is_numeric_option(module: Module, node: ast.Attribute, seen: Collection[str], *, or_none: bool) -> bool:
    """Whether an attribute is an option of the command line that is read as a number, and stays one."""
    types = [argument(call, len(call.args), "type") for call in options(module, node.attr)]
    is_read = [isinstance(given, ast.Name) and given.id in ("int", "float") for given in types]
    values = [source for source in origins(module, node) if source.node is not node]
    return (
        bool(is_read)
        and all(is_read)
        and bool(values)
        and all(is_number(value.module, value.node, seen, or_none=or_none) for value in values)
    )


def is_named_number(module: Module, name: ast.Name, seen: Collection[str] = (), *, or_none: bool) -> bool:
    """Whether a name only ever gets numbers, or None too; those in `seen` are taken for such."""
    bindings = module.bindings_of(name)
    if not bindings or name.id in seen:
        return bool(bindings)
    values = [_bound_value(module, binding.node) for binding in bindings]
    return all(value is not None and is_number(module, value, {*seen, name.id}, or_none=or_none) for value in values)


def _bound_value(module: Module, node: ast.AST) -> ast.expr | None:
    """What a name is given; the step of a loop over a range is a number."""
    parent = module.parent_of[node]
    if isinstance(parent, (ast.Assign, ast.AugAssign)):  # `a = b = 0` too; not a tuple of targets
        return parent.value
    if isinstance(parent, (ast.For, ast.comprehension)) and parent.target is node:
        is_range = isinstance(parent.iter, ast.Call) and getattr(parent.iter.func, "id", "") == "range"
        return ast.Constant(0) if is_range else None
    return module.assigned(node)
