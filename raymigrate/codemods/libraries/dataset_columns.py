"""RM716: columns of Hugging Face datasets, which were lists.

Since datasets 4, `dataset["text"]` is a `Column`, which reads its rows when asked. Measured on datasets 5.2: tokenizers
refuse it (ValueError), `+` and `sum(..., [])` raise a TypeError, json refuses it, and `==` with a list is False.
`dataset["text"][:]` is what it was, on old versions too. In `map(batched=True)` the columns are lists as before.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_changes import LOAD_DATASET
from raymigrate.codemods.phases import Phase
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values.dicts import given_by_name
from raymigrate.facts.values.items import taken_apart
from raymigrate.facts.values.keys import is_unpacked

RM716 = Rule(
    "RM716",
    "a column of a dataset, used as a list",
    "Since datasets 4 it is not a list: tokenizers, + and json refuse it, and == with a list is False.",
    'dataset["text"][:] reads the column into a list.',
    "https://huggingface.co/docs/datasets/access",
)

# Methods that give back what they are called on: a dataset, or a dict of them.
SAME_KIND = frozenset(
    [
        "add_column",
        "cast",
        "cast_column",
        "class_encode_column",
        "filter",
        "flatten",
        "flatten_indices",
        "map",
        "remove_columns",
        "rename_column",
        "rename_columns",
        "select",
        "select_columns",
        "shuffle",
        "sort",
        "with_format",
    ]
)
SPLITS = frozenset({"train", "validation", "test"})  # a variable as split= may be None, which gives a dict of datasets
# What works with a Column as it did with a list.
READERS = frozenset(
    {"len", "set", "sorted", "enumerate", "zip", "max", "min", "list", "tuple", "iter", "Counter", "map"}
)
CONVERTERS = frozenset({"array", "asarray", "tensor", "Counter", "from_list"})


@codemod("load_dataset", "load_from_disk", phase=Phase.LIBRARIES)
def dataset_columns(context: Context) -> None:
    """Reads columns into lists where the file shows that they are columns."""
    for node in context.module.of_type(ast.Subscript):
        if not isinstance(node.ctx, ast.Load):
            continue
        name = context.module.constant(node.slice)
        column = isinstance(name, str) and name not in SPLITS
        if not column or _kind(context.module, node.value) != "dataset" or _is_read_only(context.module, node):
            continue
        if context.converts(RM716, node, "A column of a dataset is not a list today; now it is read into one."):
            context.plan.replace(node, "$dataset[$column][:]", dataset=node.value, column=node.slice)


def _kind(module: Module, node: ast.expr, seen: frozenset[ast.expr] = frozenset()) -> str | None:
    """ "dataset", "dict" or "list" of them where an expression leads back to `load_dataset`, else None."""
    value = module.value(node)
    if value in seen:
        return None  # `rows = rows["train"]` below `from data import *`
    seen |= {value}
    if isinstance(value, ast.Subscript):
        return "dataset" if _is_one_of_several(module, value, seen) else None
    if isinstance(value, ast.Name):
        return "dataset" if _is_unpacked(module, value, seen) else None
    if not isinstance(value, ast.Call):
        return None
    if module.qualified(value.func) in LOAD_DATASET:
        given = given_by_name(module, value)
        if is_unpacked(module, value, "split", "streaming") is None or "streaming" in given:
            return None
        return _kind_of_split(module, given["split"]) if "split" in given else "dict"
    if isinstance(value.func, ast.Attribute):
        kind = _kind(module, value.func.value, seen)
        if value.func.attr == "train_test_split" and kind == "dataset":
            return "dict"
        if value.func.attr == "values" and kind == "dict":
            return "list"
        return kind if value.func.attr in SAME_KIND else None
    return None


def _kind_of_split(module: Module, split: ast.expr) -> str | None:
    """What load_dataset gives for what `split=` is: one dataset for each of several."""
    kinds = set()
    for source in module.origins(split):
        value = source.module.constant(source.node)
        if isinstance(source.node, (ast.List, ast.Tuple, ast.ListComp)):
            kinds.add("list")
        elif isinstance(source.node, (ast.Dict, ast.DictComp)) or value is None:
            kinds.add("dict")
        else:
            kinds.add("dataset" if value is ... or isinstance(value, str) else "")
    return kinds.pop() or None if len(kinds) == 1 else None


def _is_one_of_several(module: Module, node: ast.Subscript, seen: frozenset[ast.expr]) -> bool:
    """Whether a subscript takes one dataset: by its split from a dict, by its number from a list."""
    kind = _kind(module, node.value, seen)
    return kind == "dict" or (kind == "list" and isinstance(module.constant(node.slice), int))


def _is_unpacked(module: Module, name: ast.Name, seen: frozenset[ast.expr]) -> bool:
    """Whether a name is that of one of several datasets: `train, test = load_dataset(..., split=["train", "test"])`."""
    several = taken_apart(module, module.definition(name))
    return several is not None and _kind(module, several, seen) == "list"


def _is_read_only(module: Module, node: ast.Subscript) -> bool:
    """Whether a column is only indexed, walked through or counted, or already copied."""
    parent = module.parent_of[node]
    if isinstance(parent, (ast.Subscript, ast.For, ast.comprehension)):
        return getattr(parent, "value", getattr(parent, "iter", None)) is node
    if isinstance(parent, ast.Call) and parent.func is not node:
        name = parent.func.attr if isinstance(parent.func, ast.Attribute) else ast.unparse(parent.func)
        if name == "sum":
            return len(parent.args) == 1  # of numbers; sum(lists, []) adds a list and the column
        return name in (CONVERTERS if isinstance(parent.func, ast.Attribute) else READERS)
    return False
