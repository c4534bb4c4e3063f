"""Which expressions are DataFrames or Series of pandas for sure."""

import ast

from raymigrate.facts.module import Module

MAKERS = ("pandas.DataFrame", "pandas.concat", "pandas.merge", "pandas.json_normalize")
READ = "pandas.read_"
CLASSES = ("pandas.DataFrame", "pandas.Series", "pandas.core.frame.DataFrame")
FROM_OTHERS = "to_pandas"  # of a Dataset of Ray or of the datasets library, of a table of Arrow
ROWS = ("iloc", "loc")
# Methods of a DataFrame that give one.
KEEPS = frozenset(
    [
        *("sample", "head", "tail", "query", "filter", "nlargest", "nsmallest", "truncate"),
        *("dropna", "fillna", "ffill", "bfill", "drop", "drop_duplicates", "replace", "astype", "copy"),
        *("reset_index", "set_index", "sort_values", "sort_index", "rename", "assign", "merge", "join", "explode"),
    ]
)


def is_pandas(module: Module, node: ast.expr) -> bool:
    """Whether an expression is a DataFrame or a Series, in every way to it: made by pandas, perhaps through methods.

    A name that leads back to itself is one if its other values are: `df = df.dropna()`.

    Args:
        module: The module.
        node: The expression.
    """
    waiting, seen, is_made = [node], set[ast.expr](), False
    while waiting:
        for source in module.origins(waiting.pop(), elsewhere=False):
            value = source.node
            if value in seen:
                continue
            seen.add(value)
            whole = _whole(value)
            if whole is not None and value not in module.reference_at:
                waiting.append(whole)
            elif _is_made(module, value):
                is_made = True
            else:
                return False
    return is_made


def _whole(value: ast.expr) -> ast.expr | None:
    """The DataFrame that an expression is a part of, or that a method was called of, if it has one."""
    if isinstance(value, ast.Subscript):
        held = value.value
        return held.value if isinstance(held, ast.Attribute) and held.attr in ROWS else held
    method = value.func if isinstance(value, ast.Call) else None
    return method.value if isinstance(method, ast.Attribute) and method.attr in KEEPS else None


def _is_made(module: Module, value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        name = module.qualified(value.func) or ""
        return name in MAKERS or name.startswith(READ) or _is_method(value.func, FROM_OTHERS)
    parameter = module.definition(value)
    annotation = parameter.annotation if isinstance(parameter, ast.arg) else None
    return annotation is not None and module.qualified(annotation) in CLASSES


def _is_method(function: ast.expr, name: str) -> bool:
    return isinstance(function, ast.Attribute) and function.attr == name
