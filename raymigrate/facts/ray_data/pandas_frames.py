"""Which expressions are DataFrames or Series of pandas for sure."""

import ast
from typing import TypeGuard

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name, is_method_call

MAKERS = ("pandas.DataFrame", "pandas.concat", "pandas.merge", "pandas.json_normalize")
READ = "pandas.read_"
OF_OTHERS = ("pandas.read_html", "pandas.read_pickle", "pandas.read_hdf")  # a list, and whatever was written
DATAFRAME, SERIES = 2, 1  # how many dimensions they have
CLASSES = {
    **dict.fromkeys(("pandas.DataFrame", "pandas.core.frame.DataFrame"), DATAFRAME),
    **dict.fromkeys(("pandas.Series", "pandas.core.series.Series"), SERIES),
}
FROM_OTHERS = "to_pandas"  # of a Dataset of Ray or of the datasets library, of a table of Arrow
ROWS = ("iloc", "loc")
# Methods that give masks.
MASKS = frozenset(
    [
        *("isin", "isna", "isnull", "notna", "notnull", "duplicated", "between", "any", "all"),
        *("contains", "startswith", "endswith", "match", "fullmatch", "eq", "ne", "lt", "le", "gt", "ge"),
    ]
)
# Methods of a DataFrame that give one.
KEEPS = frozenset(
    [
        *("sample", "head", "tail", "query", "filter", "nlargest", "nsmallest", "truncate"),
        *("append", "dropna", "fillna", "ffill", "bfill", "drop", "drop_duplicates", "replace", "astype", "copy"),
        *("reset_index", "set_index", "sort_values", "sort_index", "rename", "assign", "merge", "join", "explode"),
    ]
)


def dimensions(module: Module, node: ast.expr) -> int:
    """How many dimensions an expression has for sure: of a DataFrame two, of a Series one, of anything else none.

    It is one in every way to it: made by pandas, perhaps through methods. A name that leads back to itself is one if
    its other values are: `df = df.dropna()`.

    Args:
        module: The module.
        node: The expression.
    """
    waiting, seen, found = [(node, 0)], set[tuple[ast.expr, int]](), DATAFRAME + 1
    while waiting and found > 0:
        end, taken = waiting.pop()
        for value in (source.node for source in module.origins(end, elsewhere=False)):
            if (value, taken) in seen:
                continue
            seen.add((value, taken))
            whole = _whole(value)
            if whole is None or value in module.reference_at:
                found = min(found, _made(module, value) - taken)
            elif taken < DATAFRAME:
                waiting.append((whole, taken + _lost(module, value)))
            else:
                found = 0
    return max(found, 0) if found <= DATAFRAME else 0


def _whole(value: ast.expr) -> ast.expr | None:
    """The DataFrame that an expression is a part of, or that a method was called of, if it has one."""
    if isinstance(value, ast.Subscript):
        return value.value.value if _by_rows(value.value) else value.value
    method = value.func if isinstance(value, ast.Call) else None
    return method.value if isinstance(method, ast.Attribute) and method.attr in KEEPS else None


def _by_rows(held: ast.expr) -> TypeGuard[ast.Attribute]:
    return isinstance(held, ast.Attribute) and held.attr in ROWS


def _lost(module: Module, value: ast.expr) -> int:
    """How many dimensions a part has less than the whole: a key takes one, and what picks several takes none."""
    if not isinstance(value, ast.Subscript):
        return 0
    keys = value.slice.elts if isinstance(value.slice, ast.Tuple) and _by_rows(value.value) else [value.slice]
    return sum(not _picks_several(module.value(key)) for key in keys)


def _picks_several(key: ast.expr) -> bool:
    """Whether a key is a slice, a list or a mask for sure: `df[3:]`, `df[["a", "b"]]`, `df[df.a > 1]`."""
    if isinstance(key, ast.Call):
        return is_method_call(key, *MASKS)
    if isinstance(key, ast.UnaryOp):
        return isinstance(key.op, ast.Invert)
    if isinstance(key, ast.BinOp):
        return isinstance(key.op, (ast.BitAnd, ast.BitOr, ast.BitXor))
    return isinstance(key, (ast.Slice, ast.List, ast.ListComp, ast.Compare))


def _made(module: Module, value: ast.expr) -> int:
    """How many dimensions has what pandas makes, or what a parameter is said to be; none if it is something else."""
    if isinstance(value, ast.Call):
        name = called_name(module, value)
        is_made = (
            name in MAKERS or (name.startswith(READ) and name not in OF_OTHERS) or _is_method(value.func, FROM_OTHERS)
        )
        return DATAFRAME if is_made else SERIES if name == "pandas.Series" else 0
    parameter = module.definition(value)
    annotation = parameter.annotation if isinstance(parameter, ast.arg) else None
    return CLASSES.get(module.qualified(annotation) or "", 0) if annotation is not None else 0


def _is_method(function: ast.expr, name: str) -> bool:
    return isinstance(function, ast.Attribute) and function.attr == name
