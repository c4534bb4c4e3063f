"""Filters of pyarrow that Ray Data can say too: `pyarrow.dataset.field("x") > 0`.

Ray 2.60, data/expressions.py: what `col("x") > 0` and such expressions hand to pyarrow is the same (measured with
numbers, texts, dates and None). `is_in` takes anything but a list for one value.
"""

import ast

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import is_method_call

FIELDS = ("pyarrow.dataset.field", "pyarrow.compute.field")
# Methods of a column that test it, by what they are called in Ray Data.
TESTS = {"isin": "is_in", "is_null": "is_null", "is_valid": "is_not_null"}
TO_PYTHON = ("as_py", "to_pylist", "item", "tolist")  # methods that give values of Python's
COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def calls_of_filter(module: Module, node: ast.expr) -> list[ast.Call] | None:
    """The calls of pyarrow in a filter, `field("x")` and its tests; None where Ray Data may not say the same.

    Args:
        module: The module.
        node: The filter.
    """
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr)):
        left, right = calls_of_filter(module, node.left), calls_of_filter(module, node.right)
        return left + right if left is not None and right is not None else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return calls_of_filter(module, node.operand)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], COMPARISONS):
        sides = [side for side in (node.left, *node.comparators) if not _is_value(module, side)]
        columns = [side for side in sides if _is_column(module, side)]
        return [side for side in columns if isinstance(side, ast.Call)] if sides and sides == columns else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_column(module, node.func.value):
        column = node.func.value
        return [column, node] if isinstance(column, ast.Call) and _is_test(module, node, node.func.attr) else None
    return None


def _is_test(module: Module, call: ast.Call, method: str) -> bool:
    takes = 1 if method == "isin" else 0
    values = all(_is_value(module, given) for given in call.args)
    return method in TESTS and len(call.args) == takes and not call.keywords and values


def _is_column(module: Module, node: ast.expr) -> bool:
    """Whether an expression is a column by its name."""
    if not isinstance(node, ast.Call) or module.qualified(node.func) not in FIELDS:
        return False
    return len(node.args) == 1 and not node.keywords and isinstance(module.constant(node.args[0]), str)


def _is_value(module: Module, node: ast.expr) -> bool:
    """Whether an expression is a value of Python's, as far as is seen: nothing of pyarrow is in it."""
    return not any(_is_of_pyarrow(source.module, source.node) for source in module.origins(node))


def _is_of_pyarrow(module: Module, node: ast.AST) -> bool:
    if is_method_call(node, *TO_PYTHON):
        return False
    if (module.qualified(node) or "").startswith("pyarrow"):
        return True
    return any(_is_of_pyarrow(module, part) for part in ast.iter_child_nodes(node))
