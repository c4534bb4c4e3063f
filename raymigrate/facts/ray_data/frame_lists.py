"""Columns of lists in DataFrames: what makes them, and what reads them. With Arrow they have no `.str`."""

import ast
from typing import TypeGuard

from raymigrate.facts.ray_data.frame_texts import SPLITS
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import is_method_call, keyword_argument

# Methods of `.str` that make lists of texts, or with expand= columns.
SEVERAL = SPLITS | {"findall", "partition", "rpartition"}
LISTS = (ast.List, ast.ListComp, ast.Tuple)


def splits_into_columns(module: Module, call: ast.Call, method: str) -> bool | None:
    """Whether `.str.method(...)` makes several columns, and no column of lists; None where it makes neither.

    Args:
        module: The module.
        call: The call.
        method: The name of the method.
    """
    if method not in SEVERAL:
        return None
    expand = keyword_argument(call, "expand")
    return method.endswith("partition") if expand is None else module.constant(expand) is True


def makes_lists(module: Module, given: ast.expr) -> bool:
    """Whether a function that is called with each cell is seen to give a list: `lambda text: text.split()`.

    Args:
        module: The module.
        given: The function.
    """
    value, function = module.value(given), module.definition(given)
    if isinstance(value, ast.Lambda):
        results: list[ast.expr | None] = [value.body]
    else:
        returns = module.of_type(ast.Return) if isinstance(function, ast.FunctionDef) else []
        results = [one.value for one in returns if module.function(one) is function]
    return any(isinstance(one, LISTS) or is_method_call(one, *SPLITS) for one in results)


def reads_of_column(module: Module, column: ast.Subscript) -> list[ast.expr]:
    """The reads of a column of a DataFrame, from where it is set to where it is set again.

    Args:
        module: The module.
        column: The column that is set, such as `frame["words"]`.
    """
    name, start = module.constant(column.slice), module.end(module.parent_of[column])
    parts = [module.parent_of[use] for use in module.uses_of(column.value)]
    later = [part for part in parts if _is_column(part, module, name) and module.start(part) > start]
    ends = [module.end(module.parent_of[part]) for part in later if isinstance(part.ctx, ast.Store)]
    end = min(ends, default=None)
    reads: list[ast.expr] = [part for part in later if isinstance(part.ctx, ast.Load)]
    return [read for read in reads if end is None or module.start(read) < end]


def _is_column(node: ast.AST, module: Module, name: object) -> TypeGuard[ast.Subscript | ast.Attribute]:
    if isinstance(node, ast.Subscript):
        return isinstance(name, str) and module.constant(node.slice) == name
    return isinstance(node, ast.Attribute) and node.attr == name
