"""RM505: ray.data.from_huggingface() of a DatasetDict."""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.facts.hugging_face.datasets import is_hf_dataset
from raymigrate.facts.hugging_face.instances import instance_of
from raymigrate.facts.projects.handed_on import origins_anywhere
from raymigrate.facts.ray_data.datasets import FROM_HUGGINGFACE
from raymigrate.facts.values import Source, argument, called_name, has_unpacking
from raymigrate.facts.values.readers import readers

RM505 = Rule(
    "RM505",
    "from_huggingface() of a DatasetDict",
    "Since Ray 2.7 ray.data.from_huggingface takes one split: a DatasetDict raises a DeprecationWarning.",
    "Call it once for each split.",
    "https://docs.ray.io/en/latest/data/api/doc/ray.data.from_huggingface.html",
)


RAISES = "from_huggingface() raises a DeprecationWarning for a DatasetDict"
LOADERS = ("datasets.load_dataset", "datasets.load.load_dataset")
DICTS = ("datasets.DatasetDict", "datasets.dataset_dict.DatasetDict")
# Methods of a DatasetDict that give one, as those of the same names of a Dataset give a Dataset.
CHAINED = frozenset(
    {"map", "filter", "shuffle", "remove_columns", "rename_column", "rename_columns", "select_columns"}
    | {"cast", "cast_column", "with_format", "with_transform", "flatten", "flatten_indices", "sort"}
    | {"class_encode_column", "align_labels_with_mapping"}
)


@codemod("from_huggingface")
def dataset_dicts(context: Context) -> None:
    """Converts from_huggingface() of a DatasetDict into one call per split."""
    module = context.module
    for call in module.calls(FROM_HUGGINGFACE):
        given = argument(call, 0, "dataset")
        if given is None:
            continue
        cases = [_is_dataset_dict(source) for source in _unchained(origins_anywhere(module, given), set())]
        is_sure = bool(cases) and all(cases)  # nothing is known of `raw = raw.shuffle(1)` by itself
        if not is_sure and not any(_is_dict_use(module.parent_of[use], use) for use in readers(module, call)):
            if any(cases):
                context.manual(RM505, call, f"Where this is a DatasetDict: {RAISES}.")
            continue
        is_mixed = any(cases) and not is_sure
        binds = any(isinstance(part, ast.NamedExpr) for part in ast.walk(given))  # which no loop of a comprehension may
        if binds or len(call.args) + len(call.keywords) != 1 or (is_mixed and not isinstance(given, ast.Name)):
            where = f"Where this is a DatasetDict: {RAISES}" if is_mixed else RAISES
            context.manual(RM505, call, f"{where}.")
        elif context.converts(RM505, call, f"{RAISES}; now called for each split."):
            _call_for_splits(context, call, given, is_mixed=is_mixed)


def _call_for_splits(context: Context, call: ast.Call, given: ast.expr, *, is_mixed: bool) -> None:
    """Plans the calls for each split; where a function is given a split elsewhere, both, as legacy Ray took both."""
    function = context.module.source(call.func)
    first, last = ("", " ") if isinstance(given, ast.Name) else ("\n    ", "\n    ")
    end = "\n" if first else ""
    source = f"{{{first}name: {function}(split){last}for name, split in $given.items(){end}}}"
    if is_mixed:
        source = f"(\n    {source}\n    if isinstance($given, dict)\n    else {function}($given)\n)"
    context.plan.replace(call, source, given=given)


def _unchained(sources: list[Source], seen: set[ast.AST]) -> Iterator[Source]:
    """What expressions start with, without methods that give what they are called on: `raw` of `raw.shuffle(1)`."""
    for source in sources:
        module, value = source.module, source.node
        method = value.func if isinstance(value, ast.Call) else None
        if not isinstance(method, ast.Attribute) or method.attr not in CHAINED or method in module.reference_at:
            yield source
        elif value not in seen:
            seen.add(value)
            yield from _unchained(origins_anywhere(module, method.value), seen)


def _is_dataset_dict(source: Source) -> bool:
    """Whether an expression is a DatasetDict of Hugging Face for sure."""
    module, value = source.module, source.node
    if not isinstance(value, ast.Call):
        return isinstance(value, (ast.Name, ast.Attribute)) and instance_of(module, value) in DICTS
    name = called_name(module, value)
    if name in LOADERS:
        split = argument(value, 5, "split")
        return not has_unpacking(value) and (split is None or module.constant(split) is None)
    if name in DICTS or name.rpartition(".")[0] in DICTS:  # DatasetDict.load_from_disk() and similar calls
        return True
    method = value.func
    # A method of Ray's Datasets too, which gives a list.
    is_split = isinstance(method, ast.Attribute) and method.attr == "train_test_split"
    return is_split and method not in module.reference_at and is_hf_dataset(module, method.value)  # type: ignore[attr-defined]


def _is_dict_use(parent: ast.AST, use: ast.expr) -> bool:
    """Whether a use is one of the dict that legacy Ray gave: a Ray Dataset has no keys, nor items to index."""
    if isinstance(parent, ast.Subscript):
        return parent.value is use
    if isinstance(parent, ast.keyword):
        return parent.arg == "datasets"  # a trainer's
    return isinstance(parent, ast.Attribute) and parent.attr in ("items", "keys", "values")
