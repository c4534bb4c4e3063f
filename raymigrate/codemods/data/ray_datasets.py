"""RM506 to RM509: calls of Ray Data that current Ray refuses or answers differently.

Measured by comparing the signatures of Ray 2.6.3 and 2.60, and by calling each on Ray 2.60. `read_*` and most methods
are unchanged; `parallelism=` only warns.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.data.batch_mappers import RM503, report_lost_assignment
from raymigrate.codemods.shared.preprocessor_advice import default_batch_size
from raymigrate.facts.hugging_face.datasets import is_hf_dataset
from raymigrate.facts.ray_data.batch_functions import BatchFunction
from raymigrate.facts.ray_data.datasets import PIPELINES, attributes_of_shards, is_dataset
from raymigrate.facts.ray_train.trainers import TRAIN_LOOP, trainer_calls
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import (
    argument,
    called_name,
    every_origin,
    is_method_call,
    keyword_argument,
    unpacked_dicts,
    written,
)
from raymigrate.knowledge.legacy import ACCELERATE_TRAINERS, TORCH_TRAINERS
from raymigrate.knowledge.libraries import look_up, parameters, takes

API = "https://docs.ray.io/en/latest/data/api/dataset.html"
MIGRATION = "https://docs.ray.io/en/latest/data/iterating-over-data.html"

RM506 = Rule(
    "RM506",
    "a method of a Ray Dataset that is gone",
    "The method raises an AttributeError.",
    "fully_executed() is materialize() now, and to_torch() is iterator().to_torch(); a window of blocks needs no"
    " counterpart, as datasets stream; instead of repeat() iterate once for each epoch.",
    MIGRATION,
)
RM507 = Rule(
    "RM507",
    "an argument that Ray Data no longer takes",
    "The call raises a TypeError, a ValueError or a DeprecationWarning.",
    "prefetch_blocks goes: prefetch_batches=1 is the default. drop_columns() gets a list.",
    API,
)
RM508 = Rule(
    "RM508",
    "batches without batch_format",
    "Until Ray 2.3 batches of tables were pandas DataFrames; now they are dicts of NumPy arrays, and what only a"
    " DataFrame has raises an AttributeError or KeyError.",
    'Say batch_format="pandas".',
    "https://docs.ray.io/en/latest/data/api/doc/ray.data.Dataset.map_batches.html",
)

RM509 = Rule(
    "RM509",
    "Hugging Face datasets given to a trainer as datasets=",
    "Ray Train takes Ray Datasets only: legacy trainers refused others, and get_dataset_shard() of Ray >= 2.51 fails"
    " with AttributeError: 'Dataset' object has no attribute 'name'.",
    "Wrap each in ray.data.from_huggingface(...), or load the data in the training function.",
    "https://docs.ray.io/en/latest/data/loading-data.html",
)

GONE_PROPERTIES = {
    "is_fully_executed": "isinstance(ds, ray.data.MaterializedDataset) tells whether a Dataset is in memory.",
    "default_batch_format": 'It was a class; batches are dicts of NumPy arrays unless batch_format="pandas" is given.',
    "dataset_format": "Remove this test: blocks are Arrow tables, or DataFrames where a function returned some.",
}
GONE_METHODS = ("fully_executed", "lazy", "to_torch", *PIPELINES)
NO_PIPELINE = "raises an AttributeError: there is no DatasetPipeline any more"
# What only a DatasetPipeline had (2.4.0 data/dataset_pipeline.py).
OF_PIPELINES = {
    "iter_epochs": "Get the shard once, and iterate over it again in each epoch: for epoch in range(...): for batch in"
    " shard.iter_torch_batches(...).",
    "iter_datasets": "Take the whole Dataset in place of one for each window: datasets stream. What was written for"
    " each window is written once.",
    "foreach_window": "Call the function with the whole Dataset: datasets stream.",
    "rewindow": "Delete it: datasets stream.",
    "show_windows": "Call show().",
    "repartition_each_window": "Call repartition().",
    "random_shuffle_each_window": "Call random_shuffle(), or give iter_batches() local_shuffle_buffer_size=.",
    "sort_each_window": "Call sort().",
    "randomize_block_order_each_window": "Call randomize_block_order().",
}
ITERATORS = frozenset(
    {"iter_rows", "iter_batches", "iter_torch_batches", "iter_tf_batches", "to_tf", "to_torch", "iter_epochs"}
)
# Measured: dir() of a shard on Ray 2.60.
SHARD_HAS = frozenset(
    [
        "get_context",
        "iter_batches",
        "iter_jax_batches",
        "iter_rows",
        "iter_tf_batches",
        "iter_torch_batches",
        "materialize",
        "schema",
        "stats",
        "to_tf",
        "to_torch",
    ]
)
GONE_ARGUMENTS = {
    "meta_provider": "It raises a TypeError; delete it, as file metadata are fetched in parallel by default.",
    "block_path_provider": "It raises a TypeError; use filename_provider=.",
    "output_arrow_format": "It raises a TypeError; delete it, as blocks are Arrow tables.",
}


@codemod("ray", in_ray_scripts=True)
def gone_methods(context: Context) -> None:
    """Converts and reports methods and properties that Datasets no longer have."""
    module = context.module
    for node in module.attributes(*OF_PIPELINES, *GONE_PROPERTIES, *GONE_METHODS):
        if node in module.reference_at:
            continue
        if node.attr in OF_PIPELINES and not _is_own(context, node.attr):
            context.manual(RM506, node, f"{node.attr}() {NO_PIPELINE}.", OF_PIPELINES[node.attr])
        elif is_dataset(module, node.value):
            _method(context, node)


def _is_own(context: Context, name: str) -> bool:
    """Whether the module defines a method of this name itself."""
    return any(isinstance(node, ast.FunctionDef) and node.name == name for node in context.module.nodes)


def _without_lazy(node: ast.expr) -> ast.expr:
    """What comes before `.lazy()`, which goes."""
    while is_method_call(node, "lazy"):
        node = node.func.value
    return node


def _method(context: Context, method: ast.Attribute) -> None:
    """Deals with one attribute of a Dataset."""
    call = context.module.parent_of[method]
    called = isinstance(call, ast.Call) and call.func is method
    if method.attr in GONE_PROPERTIES:
        context.manual(RM506, method, f".{method.attr} raises an AttributeError.", GONE_PROPERTIES[method.attr])
    elif not called or not isinstance(call, ast.Call):
        return
    elif method.attr == "fully_executed" and context.converts(
        RM506, method, "fully_executed() raises an AttributeError; now materialize()."
    ):
        context.plan.replace(method, "$dataset.materialize", dataset=_without_lazy(method.value))
    elif method.attr == "lazy" and context.converts(RM506, method, "lazy() is gone: every Dataset is lazy."):
        context.plan.replace(call, "$dataset", dataset=_without_lazy(method.value))
    elif method.attr == "to_torch" and context.converts(
        RM506, method, "Dataset.to_torch() raises an AttributeError; now iterator().to_torch()."
    ):
        context.plan.replace(method, "$dataset.iterator().to_torch", dataset=_without_lazy(method.value))
    elif method.attr in PIPELINES:
        context.manual(
            RM506,
            method,
            f"{method.attr}() {NO_PIPELINE}.",
            "Delete it: datasets stream."
            if method.attr == "window"
            else "Delete it, and iterate over the shard again in each epoch: for epoch in range(...).",
        )


@codemod("ray", in_ray_scripts=True)
def gone_arguments(context: Context) -> None:
    """Deletes arguments without effect, and reports the others."""
    for call, keyword in context.module.keywords("prefetch_blocks", "num_blocks", *GONE_ARGUMENTS):
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if keyword.arg == "prefetch_blocks" and method in ITERATORS and not _is_own(context, method):
            message = f"{method}(prefetch_blocks=) raises a TypeError; deleted, as it has no effect on the rows."
            if context.converts(RM507, keyword, message):
                context.plan.call(call).remove.add("prefetch_blocks")
        elif keyword.arg == "num_blocks" and method == "random_shuffle" and _is_ray(context, call):
            _shuffle_into_blocks(context, call, keyword)
        elif keyword.arg in GONE_ARGUMENTS and _is_ray(context, call) and not _takes(context, call, keyword.arg):
            context.manual(RM507, keyword, f"{method}({keyword.arg}=) is gone.", GONE_ARGUMENTS[keyword.arg])


@codemod("drop_columns", in_ray_scripts=True)
def dropped_columns(context: Context) -> None:
    """Makes a list of the one column that a Dataset is to drop: its name is read letter by letter today.

    Ray 2.6.3 gave the name to pandas, which takes one as well. Ray 2.60 compares len(cols) with len(set(cols)), and
    looks for each letter among the columns, where these are known (data/dataset.py:1542).
    """
    for call, method in context.module.method_calls("drop_columns"):
        columns = argument(call, 0, "cols")
        if columns is None or not _is_text(context.module, columns) or not is_dataset(context.module, method.value):
            continue
        message = "drop_columns() takes each letter of a str for a column, a ValueError or KeyError; now a list."
        if context.converts(RM507, columns, message):
            context.plan.replace(columns, "[$column]", column=columns)


def _is_text(module: Module, node: ast.expr) -> bool:
    """Whether a value surely is a str: a constant, whichever of several, or an f-string."""
    return every_origin(module, node, lambda _, text: isinstance(text, ast.JoinedStr) or isinstance(written(text), str))


def _takes(context: Context, call: ast.Call, keyword: str) -> bool:
    """Whether what a call calls may take a keyword on current Ray, as datasources do that read_* lost.

    Of a class inside Ray the parameters are not known; methods of Datasets have lost them all.
    """
    called = called_name(context.module, call)
    given = parameters(look_up(called))
    return takes(given, keyword) if given is not None else called.startswith("ray.data._")


def _is_ray(context: Context, call: ast.Call) -> bool:
    """Whether a call is a function of ray.data or a method of a Dataset."""
    if called_name(context.module, call).startswith("ray.data."):
        return True
    return isinstance(call.func, ast.Attribute) and is_dataset(context.module, call.func.value)


def _shuffle_into_blocks(context: Context, call: ast.Call, keyword: ast.keyword) -> None:
    """random_shuffle(num_blocks=n): shuffling and laying out anew are two steps now."""
    message = "random_shuffle(num_blocks=) raises a DeprecationWarning"
    if context.module.constant(keyword.value) is None:
        if context.converts(RM507, keyword, f"{message}; deleted."):
            context.plan.call(call).remove.add("num_blocks")
        return
    context.manual(RM507, keyword, f"{message}.", "Call .repartition(n) after .random_shuffle().")


@codemod("map_batches", in_ray_scripts=True)
def mapped_batches(context: Context) -> None:
    """Lets functions given to map_batches get the batches that they got from legacy Ray."""
    module = context.module
    for call, method in module.method_calls("map_batches"):
        fn = argument(call, 0, "fn")
        if fn is None or unpacked_dicts(call) or not is_dataset(module, method.value):
            continue
        _batches(context, call, BatchFunction(module, fn))


def _batches(context: Context, call: ast.Call, function: BatchFunction) -> None:
    """Adds what one call of map_batches needs; nothing for a function whose body is not seen."""
    constant, edit = context.module.constant, context.plan.call(call)
    batch_format = constant(keyword_argument(call, "batch_format"))
    if batch_format in (None, "default") and keyword_argument(call, "batch_format") is None and function.takes_a_frame:
        if context.converts(
            RM508,
            function.given,
            f"{function.described} uses its batch as a DataFrame, and would get a dict of arrays; now it gets one.",
        ):
            edit.set("batch_format", '"pandas"')
            batch_format = "pandas"
    elif batch_format == "default" and function.takes_a_frame:
        keyword = next(keyword for keyword in call.keywords if keyword.arg == "batch_format")
        if context.converts(RM508, keyword, 'batch_format="default" is "numpy" today; the function takes a DataFrame.'):
            edit.set("batch_format", '"pandas"')
            batch_format = "pandas"
    if batch_format == "pandas":
        for place in function.lost_assignments:
            report_lost_assignment(context, place, function, call)
    if keyword_argument(call, "zero_copy_batch") is None and batch_format != "pyarrow":
        _copied(context, call, function, "pandas" if batch_format == "pandas" else "numpy")


def _copied(context: Context, call: ast.Call, function: BatchFunction, batch_format: str) -> None:
    """Gives a function that changes its batch a copy of it, as legacy Ray did."""
    if not function.writes_to_arrays(batch_format):
        return
    would = "would get a read-only one; now it gets a copy"
    if context.converts(RM503, function.given, f"{function.described} changes its batch in place, and {would}."):
        edit = context.plan.call(call)
        if argument(call, 1, "batch_size") is None:
            edit.set("batch_size", str(default_batch_size(context)))
        edit.set("zero_copy_batch", "False")


@codemod("datasets")
def hugging_face_datasets(context: Context) -> None:
    """Reports datasets of Hugging Face handed to a trainer whose training function is the user's own."""
    for call in trainer_calls(context.module, TORCH_TRAINERS | ACCELERATE_TRAINERS, TRAIN_LOOP):
        for value in (call.datasets.keys or {}).values():
            if is_hf_dataset(context.module, value):
                context.manual(RM509, value, "This is not a Ray Dataset: the trainer fails before training begins.")


NO_DATASET = ".{} of a shard raises an AttributeError: a shard is a DataIterator, not a Dataset."
ROWS = "shard.materialize().{} has this worker's rows; every worker has to call it."


@codemod("get_dataset_shard")
def shards(context: Context) -> None:
    """Reports what scripts do with a shard as if it were a Dataset, which it was until Ray 2.2."""
    module = context.module
    for node in attributes_of_shards(module):
        if node.attr in SHARD_HAS or node.attr in OF_PIPELINES:
            continue
        context.manual(RM506, node, NO_DATASET.format(node.attr), ROWS.format(node.attr))
