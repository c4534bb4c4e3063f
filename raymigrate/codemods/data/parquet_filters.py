"""RM516: filters given to read_parquet().

Ray 2.60, data/read_api.py, `read_parquet`: a ValueError for `filter=`, whatever it is, and for `dataset_kwargs=` with
"filters" or "filter". Ray 2.0 to 2.9 handed `filter=` to `to_batches()` of pyarrow with the columns that `columns=`
names, so that a filter of another column was an ArrowInvalid; of `filters` in `dataset_kwargs=` they asked for the
fragments only, which have all rows (measured with pyarrow 12 and 26).
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import (
    assigned,
    is_method_call,
    is_none,
    keyword_argument,
    keyword_named,
    reads,
    seen_entries,
    unpacked_dicts,
)
from raymigrate.facts.values.keys import keys_of, unpacked_value

READ = "ray.data.read_parquet"
RM516 = Rule(
    "RM516",
    "a filter given to read_parquet()",
    "read_parquet() of Ray 2.60 raises a ValueError for filter=, and for filters in dataset_kwargs=. A filter of"
    " pyarrow given to Dataset.filter(expr=) raises a TypeError.",
    'Filter the Dataset: from ray.data.expressions import col; ray.data.read_parquet(path).filter(expr=col("x") > 0).'
    " Ray reads only the rows that it needs, as before.",
    "https://docs.ray.io/en/latest/data/api/doc/ray.data.Dataset.filter.html",
    errors=(
        "`filter=` on `read_parquet` is not supported",
        "Row filtering via 'filters' (pyarrow.parquet.ParquetDataset) or 'filter' (pyarrow.dataset.Scanner) isn't",
        "Unsupported expression type for conversion: <class 'pyarrow._compute.Expression'>",
    ),
    unproven="The tests make the libraries say the texts; what comes of an expression is compared with pyarrow's.",
)
RAISES = "read_parquet(filter=) raises a ValueError"
WRITE = (
    "Filter the Dataset, .filter(expr=...) after read_parquet(), with an expression of ray.data.expressions in place"
    ' of pyarrow\'s: field("x") is col("x"), isin([...]) is is_in([...]), is_valid() is is_not_null().'
)
OF_ALL_ROWS = (
    "Drop it to have the rows as before: legacy Ray read all of them. To have those that it asks for, call"
    ' .filter(expr=...) after read_parquet(), with col("x") of ray.data.expressions.'
)
FIELDS = ("pyarrow.dataset.field", "pyarrow.compute.field")
# Methods of a column that test it, by what they are called in Ray Data.
TESTS = {"isin": "is_in", "is_null": "is_null", "is_valid": "is_not_null"}
TO_PYTHON = ("as_py", "to_pylist", "item", "tolist")  # methods that give values of Python's
COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)


@codemod("read_parquet")
def parquet_filters(context: Context) -> None:
    """Filters what read_parquet() gives in place of handing it the filter, where Ray Data can say the filter."""
    for call in context.module.calls(READ):
        keyword = keyword_named(call, "filter")
        if keyword is not None:
            _filter(context, call, keyword)
        elif _unpacks_a_filter(context.module, call):
            context.manual(RM516, call, f"{RAISES}, and what is unpacked here may have one.", WRITE)
        options = keyword_argument(call, "dataset_kwargs")
        if options is not None and "filters" in seen_entries(context.module, options):
            context.manual(RM516, options, "read_parquet() raises a ValueError for filters in this.", OF_ALL_ROWS)


def gives_a_filter(module: Module) -> bool:
    """Whether a module gives read_parquet() a filter, as only code for older versions of Ray does."""
    return any(keyword_argument(call, "filter") is not None for call in module.calls(READ))


def _unpacks_a_filter(module: Module, call: ast.Call) -> bool:
    """Whether a dict that a call unpacks gets a filter somewhere."""
    keys = (keys_of(module, given) for given in unpacked_dicts(call))
    return any(name == "filter" for found in keys for name, _ in found.strings) or (
        unpacked_value(module, call, "filter") is not None
    )


def _filter(context: Context, call: ast.Call, keyword: ast.keyword) -> None:
    module = context.module
    if is_none(keyword.value):
        if context.converts(RM516, keyword, f"{RAISES}, also for None; deleted."):
            context.plan.call(call).remove.add("filter")
        return
    made = _made_for_filters(module, keyword.value)
    calls = _calls_of_filter(module, made) if made is not None else None
    if calls is None:
        context.manual(RM516, keyword, f"{RAISES}.", WRITE)
    elif context.converts(RM516, keyword, f"{RAISES}; now .filter(expr=) of what it gives."):
        context.plan.call(call).remove.add("filter")
        context.plan.replace(call, "$read.filter(expr=$filter)", read=call, filter=keyword.value)
        for part in calls:
            _say(context, part)
        reading = module.import_of(call.func)
        context.plan.need_import("ray.data.expressions", "col", near=context.nested(reading))


def _made_for_filters(module: Module, node: ast.expr) -> ast.expr | None:
    """The expression that makes a filter; None where its name may be read for something else."""
    while isinstance(node, ast.Name):
        target, uses = module.definition(node), reads(module, node)
        made = assigned(module, target) if target is not None else None
        if made is None or uses is None or not all(_is_filter(module, use) for use in uses):
            return None
        node = made
    return node


def _is_filter(module: Module, use: ast.Name) -> bool:
    """Whether a name stands for the `filter=` of read_parquet(), or gives another name its value."""
    keyword = module.parent_of[use]
    if not isinstance(keyword, ast.keyword):
        return False
    call = module.parent_of[keyword]
    return isinstance(call, ast.Call) and keyword.arg == "filter" and module.qualified(call.func) == READ


def _say(context: Context, call: ast.Call) -> None:
    """Says a column or its test as Ray Data does."""
    edit, reference = context.plan.call(call), context.module.reference_at.get(call.func)
    if reference is not None:
        edit.function = "col"
        context.handle(reference, gone=True)
        return
    assert isinstance(call.func, ast.Attribute)
    context.plan.replace(call.func, f"$column.{TESTS[call.func.attr]}", column=call.func.value)
    values = call.args[0] if call.args else None
    if values is not None and not isinstance(context.module.value(values), (ast.List, ast.ListComp)):
        edit.set_first("list($values)", values=values)


# Ray 2.60, data/expressions.py: what `col("x") > 0` and such expressions hand to pyarrow is the same (measured with
# numbers, texts, dates and None). `is_in` takes anything but a list for one value.
def _calls_of_filter(module: Module, node: ast.expr) -> list[ast.Call] | None:
    """The calls of pyarrow in a filter, `field("x")` and its tests; None where Ray Data may not say the same."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr)):
        left, right = _calls_of_filter(module, node.left), _calls_of_filter(module, node.right)
        return left + right if left is not None and right is not None else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return _calls_of_filter(module, node.operand)
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
