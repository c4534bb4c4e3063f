"""RM520: rows that from_huggingface() took although the dataset had selected others."""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.facts.projects.handed_on import origins_anywhere
from raymigrate.facts.ray_data.datasets import FROM_HUGGINGFACE
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, all_arguments, argument, free_name, keyword_argument
from raymigrate.facts.values.dicts import fillings
from raymigrate.facts.values.items import items_of, looped_over

FOLLOWED_SINCE = (2, 6)
RM520 = Rule(
    "RM520",
    "rows that from_huggingface() took although others were selected",
    "Before Ray 2.6 from_huggingface() took the whole table of a dataset, in its first order: shuffle(), select(),"
    " filter(), sort(), shard() and train_test_split() had no effect unless map() came after them. Today they have:"
    " training gets other rows, often fewer, and takes another number of steps.",
    "The rows of today are those that the code names. To train on those of an earlier run, leave the calls out.",
    "https://docs.ray.io/en/latest/data/api/doc/ray.data.from_huggingface.html",
    unproven="It is about what Ray before 2.6 did; on current Ray both scripts take the same rows.",
)
SELECTS = frozenset({"filter", "select", "shard", "shuffle", "sort", "train_test_split"})
# What gives the same rows with other columns, or in another format; and of a DatasetDict, some or all of its parts.
KEEPS = frozenset(
    {"remove_columns", "rename_column", "rename_columns", "select_columns", "flatten", "with_format", "with_transform"}
    | {"get", "pop", "values"}
)
# What is made of several datasets, with the rows that they select; interleave_datasets() selects from all of these.
INTERLEAVES = ("datasets.interleave_datasets", "datasets.combine.interleave_datasets")
MADE_OF_PARTS = (
    *("datasets.DatasetDict", "datasets.dataset_dict.DatasetDict"),
    *("datasets.concatenate_datasets", "datasets.combine.concatenate_datasets"),
    *INTERLEAVES,
)
DISPLAYS = (ast.Dict, ast.DictComp, ast.List, ast.ListComp, ast.Tuple)


@codemod("from_huggingface")
def selected_rows(context: Context) -> None:
    """Names the methods whose selection counts today."""
    if not context.of_legacy_job or context.from_ray.lowest >= FOLLOWED_SINCE:
        return
    told = set[tuple[int, str]]()
    for call in context.module.calls(FROM_HUGGINGFACE):
        given = argument(call, 0, "dataset")
        if given is not None and (methods := _only_selected(context.module, given)):
            called = " and ".join(filter(None, (", ".join(f"{name}()" for name in methods[:-1]), f"{methods[-1]}()")))
            message = (
                f"Before Ray 2.6 from_huggingface() took all rows here, in their first order: {called} had no effect."
                " Today the selection counts: a run gets other rows than before, or another order."
            )
            line, _ = context.module.start(call)
            if (line, message) not in told:  # `{"train": from_huggingface(a), "test": from_huggingface(b)}`
                context.note(RM520, call, message)
            told.add((line, message))


# shuffle(), select() and their like leave the table as it is and keep the numbers of the rows that count beside it;
# map() and its like write these rows anew (docs/semantics/data.md#ray-data).
def _only_selected(module: Module, dataset: ast.expr) -> list[str]:
    """The methods that selected the rows of a dataset, or of parts of a DatasetDict, since they were last written."""
    return list(dict.fromkeys(_selected_by(Source(module, dataset), set())))


def _selected_by(dataset: Source, seen: set[ast.AST], key: object = ...) -> list[str]:
    """The same, in the order in which they are called.

    Args:
        dataset: The dataset, or what holds several.
        seen: The expressions that led here.
        key: Which of several is meant; `...` for each.
    """
    module, node = dataset.module, dataset.node
    if node in seen:
        return []
    seen.add(node)
    stored = _stored(module, node, key) if isinstance(node, ast.Name) else []
    found = [name for part in stored for name in _selected_by(Source(module, part), seen)]
    return found + [name for origin in origins_anywhere(module, node) for name in _selected_in(origin, seen)]


def _stored(module: Module, holder: ast.Name, key: object) -> list[ast.expr]:
    """What is stored by a key, or by any, in what has a name: `raw["train"] = ...`."""
    stored = [(one, one.targets[0]) for one in fillings(module, holder) if isinstance(one, ast.Assign)]
    by_key = [(one, module.constant(to.slice) if isinstance(to, ast.Subscript) else ...) for one, to in stored]
    return [one.value for one, of in by_key if of == key or ... in (of, key)]


def _selected_in(origin: Source, seen: set[ast.AST]) -> list[str]:
    module, value = origin.module, origin.node
    if isinstance(value, ast.Subscript):
        return _selected_by(Source(module, value.value), seen, module.constant(value.slice))
    if isinstance(value, ast.Name):
        collection = looped_over(module, module.definition(value))
        return _selected_by(Source(module, collection), seen) if collection is not None else []
    if isinstance(value, DISPLAYS):
        return [name for item in items_of(origin) for name in _selected_by(item, seen)]
    if not isinstance(value, ast.Call):
        return []
    made_by = module.qualified(value.func)
    if made_by in MADE_OF_PARTS or free_name(module, value.func) == "dict":
        parts = all_arguments(value)
        found = [name for part in parts for name in _selected_by(Source(module, part), seen)]
        return [*found, "interleave_datasets"] if made_by in INTERLEAVES else found
    method = value.func
    if not isinstance(method, ast.Attribute) or method in module.reference_at or method.attr not in SELECTS | KEEPS:
        return []
    before = _selected_by(Source(module, method.value), seen)
    selects = method.attr in SELECTS and (before or not _cuts_a_piece(module, value, method.attr))
    return [*before, method.attr] if selects else before


def _cuts_a_piece(module: Module, call: ast.Call, method: str) -> bool:
    """Whether a call selects rows that follow one another, for which the table itself is cut."""
    if method == "select":
        rows = argument(call, 0, "indices")
        return rows is not None and any(_is_run(module, source.node) for source in module.origins(rows))
    one_piece = {"shard": ("contiguous", True), "train_test_split": ("shuffle", False)}.get(method)
    given = keyword_argument(call, one_piece[0]) if one_piece else None
    return one_piece is not None and given is not None and module.constant(given) is one_piece[1]


def _is_run(module: Module, rows: ast.expr) -> bool:
    """Whether an expression is `range(5)` or `range(5, 9)`, or a list of that."""
    while isinstance(rows, ast.Call) and free_name(module, rows.func) in ("list", "tuple") and rows.args:
        rows = rows.args[0]
    return isinstance(rows, ast.Call) and free_name(module, rows.func) == "range" and len(rows.args) < 3
