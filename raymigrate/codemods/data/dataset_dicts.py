"""RM505: ray.data.from_huggingface() of a DatasetDict."""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.facts.module import Module
from raymigrate.facts.ray_data import FROM_HUGGINGFACE
from raymigrate.facts.readers import readers
from raymigrate.facts.values import argument

RM505 = Rule(
    "RM505",
    "from_huggingface() of a DatasetDict",
    "Since Ray 2.7 ray.data.from_huggingface takes one split: a DatasetDict raises a DeprecationWarning.",
    "Call it once for each split.",
    "https://docs.ray.io/en/latest/data/api/doc/ray.data.from_huggingface.html",
)


@codemod("from_huggingface")
def dataset_dicts(context: Context) -> None:
    """Converts from_huggingface() of a DatasetDict into one call per split."""
    module = context.module
    for call in module.calls(FROM_HUGGINGFACE):
        given = argument(call, 0, "dataset")
        if given is None or not (_is_dataset_dict(context, given) or _is_read_as_dict(module, call)):
            continue
        message = "from_huggingface() raises a DeprecationWarning for a DatasetDict; now called for each split."
        if len(call.args) + len(call.keywords) != 1:
            context.manual(RM505, call, "from_huggingface() raises a DeprecationWarning for a DatasetDict.")
        elif context.converts(RM505, call, message):
            function = module.source(call.func)
            first, last = ("", " ") if isinstance(given, ast.Name) else ("\n    ", "\n    ")
            end = "\n" if first else ""
            source = f"{{{first}name: {function}(split){last}for name, split in $given.items(){end}}}"
            context.plan.replace(call, source, given=given)


def _is_dataset_dict(context: Context, node: ast.expr, depth: int = 0) -> bool:
    """Whether an expression is a DatasetDict of Hugging Face for sure."""
    module = context.module
    value = module.value(node)
    if not isinstance(value, ast.Call) or depth > 50:
        return False
    name = module.qualified(value.func) or ""
    if name in ("datasets.load_dataset", "datasets.load.load_dataset"):
        split = argument(value, 5, "split")
        unpacked = any(k.arg is None for k in value.keywords) or any(isinstance(a, ast.Starred) for a in value.args)
        return not unpacked and (split is None or module.constant(split) is None)
    if name in ("datasets.DatasetDict", "datasets.dataset_dict.DatasetDict"):
        return True
    method = value.func
    if not isinstance(method, ast.Attribute) or method in module.reference_at:
        return False
    if method.attr == "train_test_split":
        return _is_hf_dataset(context, method.value)
    chained = ("map", "filter", "shuffle", "remove_columns", "rename_column", "rename_columns", "select_columns")
    return method.attr in (*chained, "cast", "cast_column", "with_format", "flatten", "class_encode_column") and (
        _is_dataset_dict(context, method.value, depth + 1)
    )


def _is_hf_dataset(context: Context, node: ast.expr) -> bool:
    """Whether an expression is one split: train_test_split() is a method of Ray's Datasets too, and gives a list."""
    value = context.module.value(node)
    if isinstance(value, ast.Subscript):
        return _is_dataset_dict(context, value.value)
    name = context.module.qualified(value.func) if isinstance(value, ast.Call) else None
    return name in ("datasets.load_dataset", "datasets.Dataset.from_dict", "datasets.Dataset.from_pandas")


def _is_read_as_dict(module: Module, call: ast.Call) -> bool:
    """Whether the result is used as the dict that legacy Ray gave: a Ray Dataset has no keys, nor items to index."""
    return any(_is_dict_use(module.parent_of[use], use) for use in readers(module, call))


def _is_dict_use(parent: ast.AST, use: ast.expr) -> bool:
    if isinstance(parent, ast.Subscript):
        return parent.value is use
    if isinstance(parent, ast.keyword):
        return parent.arg == "datasets"  # a trainer's
    return isinstance(parent, ast.Attribute) and parent.attr in ("items", "keys", "values")
