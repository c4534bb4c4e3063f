"""RM511: functions of Ray Data that were written for rows which are not dicts.

Until Ray 2.4 a Dataset could hold anything: `from_items([(1, 2)])` had tuples as rows, a batch of them was a list, and
map() could return a number. Since Ray 2.5 a row is a dict: `{"item": (1, 2)}`. Measured on Ray 2.60.
"""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.facts.hugging_face.models import PIPELINES
from raymigrate.facts.ray_data.batch_functions import BatchFunction
from raymigrate.facts.ray_data.datasets import FROM_TORCH, MAPPERS, is_dataset, torch_datasource
from raymigrate.facts.ray_data.plain_batches import is_used_as_dict, of_plain_use, takes_an_array
from raymigrate.facts.ray_data.preprocessors import BATCH_MAPPERS, arguments
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, called_name, is_method_call, keyword_argument, last_name, sources

RM511 = Rule(
    "RM511",
    "rows that are not dicts",
    "Since Ray 2.5 every row is a dict and every batch a dict of arrays: a function that gets them as tuples, numbers,"
    " strings or lists fails, or goes over the column names; one that returns such a value raises a ValueError.",
    'Read row["item"], batch["item"] (of range() "id", of read_text() "text", of arrays "data"), and return a dict.',
    "https://docs.ray.io/en/latest/data/transforming-data.html",
    errors=(
        "Returning a list of objects from `map_batches` is not allowed",
        "Standalone Python objects are not allowed",
    ),
)

# What a function has to return instead, by the method that it is given to.
RETURN = {
    "map_batches": 'Return a dict with a list or an array for each column, such as {"output": results}.',
    "map": 'Return a dict with a value for each column, such as {"output": result}.',
    "flat_map": 'Return a list of dicts, such as [{"output": result} for result in results].',
}
COLUMNS = {
    "ray.data.from_items": "item",
    "ray.data.from_numpy": "data",
    FROM_TORCH: "item",
    "ray.data.range": "id",
    "ray.data.range_tensor": "data",
    "ray.data.read_binary_files": "bytes",
    "ray.data.read_images": "image",
    "ray.data.read_numpy": "data",
    "ray.data.read_text": "text",
}
OF_ONE_ARRAY = frozenset({"data", "image"})
ARRAY_FORMATS = ("default", "numpy", None)  # of a batch that was an array and is a dict of arrays
TAKES_ARRAY = (
    'The function of this BatchMapper takes its batch for one array, as batch_format="numpy" of Ray <= 2.4 gave rows'
    " that are arrays: today the batch is a dict of arrays"
)
OF_TORCH = {"batch": 'list(batch["item"])', "row": 'row["item"]'}  # what it was
OLD_COLUMN = "value"  # SimpleBlockAccessor.to_pandas() of Ray 2.4
PREDICTORS = frozenset({"ray.train.predictor.Predictor", "ray.train.Predictor", "ray.ml.predictor.Predictor"})
SAME_ROWS = frozenset(
    [
        "fully_executed",
        "lazy",
        "limit",
        "materialize",
        "random_sample",
        "random_shuffle",
        "randomize_block_order",
        "repartition",
        "sort",
    ]
)
# Expressions whose value is neither a dict nor a table, whatever is in them; those that can be a table of batches.
NEITHER = (ast.JoinedStr, ast.List, ast.ListComp, ast.Set, ast.SetComp, ast.Tuple)
OF_ARRAYS = (ast.Compare, ast.UnaryOp)


@codemod("ray", in_ray_scripts=True)
def plain_rows(context: Context) -> None:
    """Reports functions that take rows or batches for what they hold, or return no dict."""
    for call, method in context.module.method_calls(*MAPPERS):
        given = argument(call, 0, "fn")
        if given is None or not is_dataset(context.module, method.value):
            continue
        function = BatchFunction(context.module, given)
        if function.visible:
            _taken(context, call, method.attr, function)
            _returned(context, call, method.attr, function)
        else:
            _unseen(context, call, method.attr, function)


def _unseen(context: Context, call: ast.Call, method: str, function: BatchFunction) -> None:
    """Tells of a function that is not seen and gets the rows of a SimpleTorchDatasource, which surely were no dicts."""
    assert isinstance(call.func, ast.Attribute)
    maker = _maker(context.module, call.func.value)
    if maker is None or torch_datasource(context.module, maker) is None or keyword_argument(call, "batch_format"):
        return
    what, holds = ("batch", "a dict of arrays") if method == "map_batches" else ("row", "a dict")
    message = f'{function.described} is not seen here: a {what} of from_torch() is {holds} with "item" since Ray 2.5.'
    context.manual(RM511, function.given, message, f"Let it use {OF_TORCH[what]} where it takes the {what} as it was.")


def _taken(context: Context, call: ast.Call, method: str, function: BatchFunction) -> None:
    """Reports a function that uses its row or batch as the item, the number or the text that it was."""
    assert isinstance(call.func, ast.Attribute)
    maker = _maker(context.module, call.func.value)
    if maker is None:
        return
    name = _made_with(context.module, maker)
    column = COLUMNS[name]
    given = keyword_argument(call, "batch_format")
    as_table = given is not None and context.module.constant(given) not in ARRAY_FORMATS
    if _items_are_dicts(context.module, maker, name):
        return
    what = "batch" if method == "map_batches" else "row"
    outcomes = [_of_old_column(function.module, use) for use in function.uses]
    is_plain = not as_table and not is_used_as_dict(function)
    outcomes += [of_plain_use(function.module, use, method, column) for use in function.uses if is_plain]
    outcomes += [takes_an_array(function)] if is_plain and what == "batch" and column in OF_ONE_ARRAY else []
    outcome = next(filter(None, outcomes), "")
    if not outcome:
        return
    holds = "a dict" if what == "row" else "a table" if as_table else "a dict of arrays"
    message = f'A {what} of {name.rpartition(".")[2]}() is {holds} with "{column}" since Ray {_since(name)}: {outcome}.'
    read = f'{what}["{column}"]'
    # A batch was a list, unless it was one array. Measured on 2.60: the column is an array of objects.
    is_list = what == "batch" and column not in OF_ONE_ARRAY and given is None
    was = f"list({read})" if is_list else read
    context.manual(RM511, function.given, message, f"Use {was}, which is what it was.")


def _since(maker: str) -> str:
    """The first Ray whose rows are dicts: those of read_images() came earlier."""
    return "2.2" if maker == "ray.data.read_images" else "2.5"


@codemod("BatchMapper")
def arrays_of_mappers(context: Context) -> None:
    """Reports the functions of BatchMappers that take a batch for one array; map_batches() gives them a dict."""
    module = context.module
    for call in module.calls(*BATCH_MAPPERS) if context.is_ray_script else ():
        given = arguments(call)
        if "fn" in given and module.constant(given.get("batch_format")) == "numpy":
            if outcome := takes_an_array(BatchFunction(module, given["fn"])):
                column = _column_of_mapper(module, call)
                named = f' with "{column}"' if column else ""
                read = f'batch["{column}"]' if column else "batch[...] with the name of their column"
                context.manual(RM511, given["fn"], f"{TAKES_ARRAY}{named}, and {outcome}.", f"Use {read}.")


def _column_of_mapper(module: Module, mapper: ast.Call) -> str:
    """The column of the rows that a BatchMapper is seen to get, by transform() or from a trainer; empty if unknown."""
    transforms = [
        (method.value, argument(call, 0, "ds", "dataset"))
        for call, method in module.method_calls("transform", "fit_transform")
    ]
    given = [dataset for owner, dataset in transforms if dataset is not None and module.value(owner) is mapper]
    for call, keyword in module.keywords("preprocessor"):
        if module.value(keyword.value) is mapper:
            datasets = keyword_argument(call, "datasets")
            given += (module.entries(datasets) or {}).values() if datasets is not None else []
    makers = [_maker(module, dataset) for dataset in given]
    columns = {COLUMNS[_made_with(module, maker)] if maker is not None else "" for maker in makers}
    return columns.pop() if len(columns) == 1 else ""


@codemod("Predictor")
def batches_of_predictors(context: Context) -> None:
    """Reports predictors of the user's own that read the column which a table of rows that are not dicts had."""
    module = context.module
    made = [call for name in COLUMNS for call in module.calls(name)]
    made = [call for call in made if not _items_are_dicts(module, call, called_name(module, call))]
    for home in module.of_type(ast.ClassDef) if made else ():
        if not any(module.qualified(base) in PREDICTORS for base in home.bases):
            continue
        for node in ast.walk(home):
            if isinstance(node, ast.Name) and isinstance(module.definition(node), ast.arg):
                if _of_old_column(module, node):
                    column = COLUMNS[called_name(module, made[0])]
                    message = (
                        f'The column "{OLD_COLUMN}" of rows that are not dicts is called "{column}" since Ray 2.5.'
                    )
                    context.manual(RM511, node, message, f'Read the column "{column}".')


def _maker(module: Module, dataset: ast.expr) -> ast.Call | None:
    """The call that makes the rows of a Dataset, if nothing has mapped them since."""
    known, way, maker = _makers(module), list[ast.Call](), None
    while (found := sources(module, dataset)) and len(found) == 1 and isinstance(value := found[0], ast.Call):
        if value in known or _made_with(module, value) in COLUMNS:
            maker = known.get(value, value)
            break
        if not is_method_call(value, *SAME_ROWS):
            break
        known[value] = None  # also where a loop leads back to it
        way.append(value)
        dataset = value.func.value
    known.update(dict.fromkeys(way, maker))
    return maker


@kept
def _makers(module: Module) -> dict[ast.Call, ast.Call | None]:
    """What makes the rows of the Datasets that were asked about, so that a long chain is gone through once."""
    return {}


def _made_with(module: Module, call: ast.Call) -> str:
    """The function that makes a Dataset in a call, by its qualified name: the one of today (RM692)."""
    return FROM_TORCH if torch_datasource(module, call) is not None else called_name(module, call)


def _items_are_dicts(module: Module, maker: ast.Call, name: str) -> bool:
    """Whether the items given to from_items() are seen to be dicts."""
    items = argument(maker, 0, "items") if name == "ray.data.from_items" else None
    value = module.value(items) if items is not None else None
    if isinstance(value, (ast.List, ast.Tuple)):
        return any(isinstance(module.value(item), ast.Dict) for item in value.elts)
    if isinstance(value, ast.ListComp):
        element = module.value(value.elt)
        return isinstance(element, (ast.Dict, ast.DictComp)) or (
            isinstance(element, ast.Call) and ast.unparse(element.func) == "dict"
        )
    return False


def _of_old_column(module: Module, use: ast.Name) -> str:
    """What comes of asking a batch for the only column of a table that Ray 2.4 made of rows which are not dicts."""
    parent = module.parent_of[use]
    asked = isinstance(parent, ast.Subscript) and parent.value is use and module.constant(parent.slice) == OLD_COLUMN
    return f'"{OLD_COLUMN}" raises a KeyError' if asked else ""


def _returned(context: Context, call: ast.Call, method: str, function: BatchFunction) -> None:
    """Reports a function that returns something else than dicts."""
    if method == "filter":
        return
    for value in function.returned:
        rows = list(_rows(value)) if method == "flat_map" else [value]
        if any(_no_dict(function, row, of_a_batch=method == "map_batches") for row in rows):
            what = "rows that are not dicts" if method == "flat_map" else "no dict"
            message = f"{function.described} returns {what}: {method}() raises a ValueError since Ray 2.5."
            context.manual(RM511, value if not function.elsewhere else call, message, RETURN[method])
            return


def _no_dict(function: BatchFunction, node: ast.expr, *, of_a_batch: bool) -> bool:
    """Whether a returned value is refused: no dict, and of a batch no table either."""
    value = function.module.value(node)
    if isinstance(value, ast.Constant):
        return value.value is not None
    if isinstance(value, NEITHER):
        return True
    if of_a_batch:
        if isinstance(value, ast.Call) and value.args and _is_list(value.args[0]):
            return _is_pipeline(function.module, value.func)
        return isinstance(value, ast.Subscript) and function.is_column(value) and isinstance(value.slice, ast.Constant)
    return isinstance(value, OF_ARRAYS) or (isinstance(value, ast.BinOp) and not isinstance(value.op, ast.BitOr))


def _is_list(node: ast.expr) -> bool:
    """Whether an expression is seen to make a list: `[...]`, `list(...)`, `batch["text"].tolist()`."""
    if not isinstance(node, ast.Call):
        return isinstance(node, (ast.List, ast.ListComp))
    return last_name(node.func) in ("list", "tolist", "to_list")


def _is_pipeline(module: Module, node: ast.expr) -> bool:
    """Whether a value is a pipeline of transformers, which gives a list for a list."""
    made = sources(module, node)
    return all(called_name(module, call) in PIPELINES for call in made)


def _rows(value: ast.expr) -> Iterator[ast.expr]:
    """The rows that a function given to flat_map() returns, as far as they can be seen."""
    if isinstance(value, (ast.List, ast.Tuple)):
        yield from value.elts
    elif isinstance(value, ast.ListComp):
        yield value.elt
