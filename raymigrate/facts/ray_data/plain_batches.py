"""What becomes of a row or batch that is used as the item, the number, the text or the array that it once was.

Until Ray 2.4 a row could be anything, a batch a list of such rows, or one array for rows that are arrays (2.4.0
data/_internal/arrow_block.py, `to_numpy`). In Ray 2.1 that went for the images of read_images() too (2.1.0 and 2.2.0
data/datasource/image_datasource.py).
"""

import ast

from raymigrate.facts.ray_data.batch_functions import BatchFunction
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument

OF_A_TEXT = frozenset({"encode", "endswith", "lower", "replace", "split", "splitlines", "startswith", "strip", "upper"})
OF_A_DICT = frozenset({"get", "items", "keys", "pop", "update", "values"})
ARRAYS = frozenset({"numpy.ndarray", "numpy.typing.NDArray"})


def takes_an_array(function: BatchFunction) -> str:
    """What comes of a dict of arrays for a function that takes its batch for one array; empty if it is not seen to."""
    if not function.visible or is_used_as_dict(function):
        return ""
    outcomes = (of_plain_use(function.module, use, "map_batches", "") for use in function.uses)
    return next(filter(None, outcomes), "") or _of_annotation(function)


def is_used_as_dict(function: BatchFunction) -> bool:
    """Whether a function asks its row or batch for a column, by a name or in a loop over the names."""
    parents = [(use, function.module.parent_of[use]) for use in function.uses]
    names = {
        parent.target.id
        for use, parent in parents
        if isinstance(parent, (ast.For, ast.comprehension))
        and parent.iter is use
        and isinstance(parent.target, ast.Name)
    }
    for use, parent in parents:
        if isinstance(parent, ast.Attribute) and parent.attr in OF_A_DICT:
            return True
        if isinstance(parent, ast.Subscript) and parent.value is use:
            is_looped_over = isinstance(parent.slice, ast.Name) and parent.slice.id in names
            if is_looped_over or isinstance(function.module.constant(parent.slice), str):
                return True
    return False


def _of_annotation(function: BatchFunction) -> str:
    assert function.node is not None
    parameters = (*function.node.args.posonlyargs, *function.node.args.args)
    annotated = next((given.annotation for given in parameters if given.arg == function.parameter), None)
    named = annotated.value if isinstance(annotated, ast.Subscript) else annotated
    is_array = named is not None and function.module.qualified(named) in ARRAYS
    return "the function takes one array" if is_array else ""


def of_plain_use(module: Module, use: ast.Name, method: str, column: str) -> str:
    """What comes of a use of a row or batch in which a dict fails, or gives something else; empty for other uses."""
    parent = module.parent_of[use]
    if isinstance(parent, ast.Subscript) and parent.value is use:
        parts = parent.slice.elts if isinstance(parent.slice, ast.Tuple) else [parent.slice]
        if any(isinstance(part, ast.Slice) for part in parts):
            return "a slice of it raises an error"
        return (
            "an item of it, by its number, raises a KeyError" if isinstance(module.constant(parent.slice), int) else ""
        )
    if isinstance(parent, ast.Attribute):
        return f"{parent.attr} of it raises an AttributeError" if parent.attr in OF_A_TEXT else ""
    if isinstance(parent, ast.BinOp):
        return "" if isinstance(parent.op, ast.BitOr) else "to calculate with it raises a TypeError"
    if isinstance(parent, ast.Compare):
        return _of_comparison(parent)
    if isinstance(parent, ast.Assign):
        return "its parts are names of columns" if isinstance(parent.targets[0], (ast.Tuple, ast.List)) else ""
    if isinstance(parent, (ast.For, ast.comprehension)) and parent.iter is use:
        over_items = method == "map_batches" and not isinstance(module.parent_of[parent], ast.DictComp)
        return "the loop goes over the names of its columns" if over_items else ""
    made = isinstance(parent, ast.Call) and _makes_frame(module, parent, use, column)
    return "the DataFrame has no rows, without an error" if made else ""


def _of_comparison(test: ast.Compare) -> str:
    """What comes of a comparison with a dict."""
    if any(isinstance(op, (ast.In, ast.NotIn, ast.Is, ast.IsNot)) for op in test.ops):
        return ""
    is_equality = all(isinstance(op, (ast.Eq, ast.NotEq)) for op in test.ops)
    return "it equals nothing that it is compared with" if is_equality else "to compare it raises a TypeError"


def _makes_frame(module: Module, call: ast.Call, batch: ast.Name, column: str) -> bool:
    """Whether `pandas.DataFrame(batch, columns=[...])` names other columns: pandas gives an empty frame for a dict."""
    if module.qualified(call.func) != "pandas.DataFrame" or call.args[:1] != [batch]:
        return False
    columns = module.constant(argument(call, 2, "columns"))
    return isinstance(columns, list) and column not in columns
