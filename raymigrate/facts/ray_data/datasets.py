"""Which expressions are Ray Datasets, or a worker's shard of one."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from raymigrate.facts.projects.callers import is_used_elsewhere
from raymigrate.facts.ray_data.preprocessors import class_name
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import BINDS, targets_of
from raymigrate.facts.values import Source, argument, called_name, is_method_call, is_none, keyword_argument
from raymigrate.facts.values.items import collections_of, items_of, origins_of_items, taken_apart
from raymigrate.knowledge.legacy import BATCH_PREDICTORS

GET_SHARD = frozenset({"ray.air.session.get_dataset_shard", "ray.train.get_dataset_shard"})
CLASSES = frozenset(
    f"ray.data.{place}"
    for place in ("Dataset", "MaterializedDataset", "dataset.Dataset", "dataset.MaterializedDataset")
)
FROM_HUGGINGFACE = "ray.data.from_huggingface"
FROM_PANDAS = "ray.data.from_pandas"
FROM_TORCH = "ray.data.from_torch"
TORCH_DATASOURCES = frozenset(
    f"ray.data.datasource.{module}SimpleTorchDatasource" for module in ("", "torch_datasource.")
)  # until Ray 2.2
MAKERS = ("ray.data.read_", "ray.data.from_", "ray.data.range")
# Functions whose datasets hold their rows in memory.
IN_MEMORY = frozenset(f"ray.data.from_{kind}" for kind in ("huggingface", "items", "pandas", "arrow", "numpy"))
MAPPERS = ("filter", "flat_map", "map", "map_batches")  # methods that take a function of rows or batches
OF_GROUPS = "map_groups"  # of what groupby() gives
TRANSFORMS = ("transform", "fit_transform")  # methods of a preprocessor, which take a Dataset and give one
MOST_FITS = 5  # of a preprocessor, one after the other
PREDICTS = ("predict", "predict_pipelined")  # of a BatchPredictor, which maps the rows to predictions
MAPS = frozenset({"add_column", OF_GROUPS, *MAPPERS, *PREDICTS})
# Methods of a Dataset that give a Dataset, in Ray 2.6.3 or today.
CHAINED = frozenset(
    [
        "add_column",
        "drop_columns",
        "filter",
        "flat_map",
        "fully_executed",
        "lazy",
        "join",
        "limit",
        "map",
        "map_batches",
        "materialize",
        "random_sample",
        "random_shuffle",
        "randomize_block_order",
        "rename_columns",
        "repartition",
        "select_columns",
        "sort",
        "union",
        "with_column",
        "zip",
    ]
)
# Those that give several, those that read one out of a dict, and those whose Datasets are in memory.
SPLITS = frozenset({"split", "split_at_indices", "split_proportionately", "train_test_split"})
READERS = frozenset({"get", "pop"})
MATERIALIZE = SPLITS | {"materialize", "fully_executed"}
# What leaves the DataFrames of from_pandas() as they are (docs/semantics/data.md#frames), and what may not.
KEEP_FRAMES = MATERIALIZE | frozenset(
    ["lazy", "limit", "random_shuffle", "randomize_block_order", "repartition", "select_columns"]
)
CHANGE_BLOCKS = CHAINED - KEEP_FRAMES
PIPELINES = frozenset({"window", "repeat"})
# What made a BatchPredictor (2.3.1 train/batch_predictor.py).
MAKERS_OF_PREDICTORS = frozenset(
    f"{name}{maker}" for name in BATCH_PREDICTORS for maker in ("", ".from_checkpoint", ".from_pandas_udf")
)


@dataclass(frozen=True)
class _Value:
    """An expression that is asked about: whether it is a Ray Dataset, or a dict, list or tuple of several."""

    module: Module
    node: ast.expr
    several: bool = False


Known = set[_Value]
Step = Callable[[_Value], list[_Value] | None]


def is_dataset(module: Module, node: ast.expr) -> bool:
    """Whether an expression is a Ray Dataset for sure: made by ray.data, wherever that is, perhaps through methods.

    So are the items of what legacy `ray.data.from_huggingface` gave for a DatasetDict, those of a split, and what a
    BatchPredictor predicts. A name that leads back to itself is a Dataset if its other values are: `ds = ds.limit(5)`.
    What is found is kept, so that a chain of many is walked once.

    Args:
        module: The module.
        node: The expression.
    """
    return _begins(_Value(module, node), _behind_dataset)


def _begins(asked: _Value, step: Step) -> bool:
    """Whether each way to a value, step by step, begins where it is to begin; one that leads back to itself is none.

    Args:
        step: Gives what has to begin so for one value to do, nothing where it is the beginning; None where it does not.
    """
    waiting, seen, starts_somewhere = [asked], set[_Value](), False
    while waiting:
        value = waiting.pop()
        known = _known(value.module, step).get((value.node, value.several))
        if known or value in seen:
            starts_somewhere |= bool(known)
            continue
        seen.add(value)
        behind = None if known is False else _behind(value, step)
        if behind is None:
            _known(asked.module, step)[asked.node, asked.several] = False
            return False
        starts_somewhere |= not behind
        waiting += behind
    for value in seen:
        _known(value.module, step)[value.node, value.several] = starts_somewhere
    return starts_somewhere


@kept
def _known(module: Module, step: Step) -> dict[tuple[ast.AST, bool], bool]:
    """What was found so far: values of a module, and whether each begins where it is to begin."""
    return {}


def is_made_here(module: Module, dataset: ast.expr, known: Known, *, several: bool) -> bool:
    """Whether a Dataset is seen to be made in a module, and no other file has a part in it.

    Args:
        module: The module.
        dataset: The Dataset.
        known: What was found to be made here, to which more is added: of a chain of many each is asked about.
        several: Whether it is a dict, list or tuple of Datasets, each of which is asked about.
    """
    waiting, seen, is_made = [_Value(module, dataset, several)], set[_Value](), False
    while waiting:
        value = waiting.pop()
        if value in known or value in seen:
            is_made |= value in known
            continue
        if value.module is not module or _may_be_given_elsewhere(module, value.node):
            return False
        seen.add(value)
        predicted = _predicted_rows(module, value.node)
        behind = _behind(value, _behind_dataset)
        waiting += (behind or ()) if predicted is None else [_Value(module, predicted)]
        is_made |= behind == [] and isinstance(value.node, ast.Call)
    known |= seen if is_made else set()
    return is_made


def _may_be_given_elsewhere(module: Module, node: ast.expr) -> bool:
    """Whether a value is a parameter of a function that other files call as well."""
    parameter = module.definition(module.value(node)) if isinstance(node, ast.Name) else None
    return isinstance(parameter, ast.arg) and is_used_elsewhere(module, parameter, surely=True)


def _ways(value: _Value) -> list[_Value]:
    """What a value can come from; None does not count: it has none of the methods of a Dataset."""
    found = [_Value(source.module, source.node, value.several) for source in value.module.origins(value.node)]
    return [way for way in found if not is_none(way.node)] or found


def _behind(value: _Value, step: Step) -> list[_Value] | None:
    """What a value can come from; where that is seen no further, what the step gives, beside its other ways."""
    ways = _ways(value)
    if value not in ways:
        return ways
    own = step(value)
    return [*own, *(way for way in ways if way != value)] if own is not None else None


def _behind_dataset(value: _Value) -> list[_Value] | None:
    """What else has to be Datasets, or collections of them, for a value to be what is asked; None where it is not."""
    return (_behind_several if value.several else _behind_one)(value.module, value.node)


def _behind_one(module: Module, node: ast.expr) -> list[_Value] | None:
    if isinstance(node, ast.Call):
        if called_name(module, node).startswith(MAKERS):
            return []
        if isinstance(node.func, ast.Attribute) and node.func not in module.reference_at:
            if node.func.attr in CHAINED | PIPELINES:
                return [_Value(module, node.func.value)]
            if node.func.attr == OF_GROUPS and (grouped := _grouped(module, node.func.value)) is not None:
                return [_Value(module, grouped)]
            if node.func.attr in READERS and node.args:
                return [_Value(module, node.func.value, several=True)]
            if node.func.attr in TRANSFORMS and _is_preprocessor(module, node.func.value):
                given = argument(node, 0, "ds", "dataset")  # `dataset` in Ray 2.0
                return [_Value(module, given)] if given is not None else None
            if node.func.attr in PREDICTS and _is_batch_predictor(module, node.func.value):
                return []
    if isinstance(node, ast.Name):
        target = module.definition(node)
        if isinstance(target, ast.arg) and target.annotation is not None:
            return [] if module.qualified(target.annotation) in CLASSES else None
        if (whole := taken_apart(module, target)) is not None:
            return [_Value(module, whole, several=True)]
    collections = collections_of(Source(module, node))
    return [_Value(found.module, found.node, several=True) for found in collections] or None


def _predicted_rows(module: Module, node: ast.expr) -> ast.expr | None:
    """The Dataset that a BatchPredictor maps to predictions, where a node is that call."""
    if not is_method_call(node, *PREDICTS):
        return None
    return argument(node, 0, "data") if _is_batch_predictor(module, node.func.value) else None


def _is_preprocessor(module: Module, node: ast.expr, depth: int = 0) -> bool:
    """Whether an object is a preprocessor of Ray Data for sure, fitted or not: fit() gives back the preprocessor."""
    for source in module.origins(node):
        method = source.node.func if isinstance(source.node, ast.Call) else None
        fitted = isinstance(method, ast.Attribute) and method.attr == "fit" and depth < MOST_FITS
        if class_name(source.module, source.node) is None and not (
            fitted and isinstance(method, ast.Attribute) and _is_preprocessor(source.module, method.value, depth + 1)
        ):
            return False
    return True


def _grouped(module: Module, groups: ast.expr) -> ast.expr | None:
    """What groupby() was called of to get groups."""
    made = module.value(groups)
    return made.func.value if is_method_call(made, "groupby") else None


def _is_batch_predictor(module: Module, node: ast.expr) -> bool:
    made = [source.module.qualified(getattr(source.node, "func", source.node)) for source in module.origins(node)]
    return bool(made) and MAKERS_OF_PREDICTORS.issuperset(made)


def _behind_several(module: Module, node: ast.expr) -> list[_Value] | None:
    if isinstance(node, ast.Call):
        if module.qualified(node.func) == FROM_HUGGINGFACE:
            return []
        method = node.func if isinstance(node.func, ast.Attribute) else None
        return [_Value(module, method.value)] if method is not None and method.attr in SPLITS else None
    items = items_of(Source(module, node))
    return [_Value(item.module, item.node) for item in items] or None


def torch_datasource(module: Module, call: ast.Call) -> ast.Call | None:
    """The `SimpleTorchDatasource()` that `read_datasource` is given, which read a Dataset of torch."""
    given = argument(call, 0, "datasource") if module.qualified(call.func) == "ray.data.read_datasource" else None
    is_made = isinstance(given, ast.Call) and module.qualified(given.func) in TORCH_DATASOURCES
    return given if isinstance(given, ast.Call) and is_made else None


def is_in_memory(module: Module, dataset: ast.expr) -> bool:
    """Whether the rows of a Dataset are there already: it is materialized, or made of rows that the script has."""
    return all(_is_in_memory(source) for source in module.origins(dataset))


def _is_in_memory(source: Source) -> bool:
    for module, call in _chain(source):
        if module.qualified(call.func) in IN_MEMORY:
            return True
        if not is_method_call(call, "limit"):
            return is_method_call(call, *MATERIALIZE)
    return False


def is_materialized(module: Module, dataset: ast.expr) -> bool:
    """Whether a Dataset is a MaterializedDataset, which has its rows: nothing is done to them any more."""
    return all(_is_materialized(source) for source in module.origins(dataset))


def _is_materialized(source: Source) -> bool:
    module, call = next(_chain(source), (source.module, None))
    if call is None:
        return False
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return module.qualified(call.func) in IN_MEMORY or method in MATERIALIZE


def is_mapped(module: Module, dataset: ast.expr) -> bool:
    """Whether a function of the user's makes the rows of a Dataset anew each time that they are read."""
    return any(_is_mapped(source) for source in module.origins(dataset))


def _is_mapped(source: Source) -> bool:
    for _, call in _chain(source):
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if method in MATERIALIZE | MAPS and keyword_argument(call, "expr") is None:  # which is no function
            return method in MAPS
    return False


def is_made_of_frames(module: Module, dataset: ast.expr) -> bool:
    """Whether the blocks of a Dataset are the DataFrames that it was made of, which it hands out as they are."""
    return _begins(_Value(module, dataset), _behind_frames)


def _behind_frames(value: _Value) -> list[_Value] | None:
    """What else has to hand out its DataFrames for a value to do; of a collection, mapped as one, each of its items."""
    module, node = value.module, value.node
    if not isinstance(node, ast.Call):
        return [_Value(held.module, held.node) for held in _held(Source(module, node))] or None
    if module.qualified(node.func) == FROM_PANDAS:
        return []
    return [_Value(module, node.func.value)] if is_method_call(node, *KEEP_FRAMES, *READERS, "values") else None


def _chain(source: Source) -> Iterator[tuple[Module, ast.Call]]:
    """The calls that a Dataset comes from, the last one first, as far as each has one value only."""
    waiting, seen = [source], set[ast.expr]()
    while len(waiting) == 1 and waiting[0].node not in seen:
        module, node = waiting[0].module, waiting[0].node
        seen.add(node)
        if isinstance(node, ast.Call):
            yield module, node
            waiting = module.origins(node.func.value) if isinstance(node.func, ast.Attribute) else []
        else:
            waiting = _held(waiting[0])


def _held(source: Source) -> list[Source]:
    """What the items of a collection can come from."""
    collections = collections_of(source)
    items = [item for collection in collections for item in items_of(collection)] or collections
    return [origin for item in items for origin in item.module.origins(item.node)]


def is_shard(module: Module, node: ast.expr) -> bool:
    """Whether an expression is what get_dataset_shard gives, also as an item of a dict or a list."""
    value = module.value(node)
    if not isinstance(value, ast.Subscript):
        return asks_for_shard(Source(module, value))
    return comes_from_shards(module, value)


def comes_from_shards(module: Module, value: ast.expr) -> bool:
    """Whether a value is what get_dataset_shard gives by every way to it, in other files too."""
    found = [end for origin in module.origins(value) for end in origins_of_items(origin) or [origin]]
    return bool(found) and all(map(asks_for_shard, found))


def asks_for_shard(source: Source) -> bool:
    """Whether a value is a call of get_dataset_shard."""
    return called_name(*source) in GET_SHARD


def may_be_shard(module: Module, node: ast.expr) -> bool:
    """Whether an expression can be what get_dataset_shard gives, here or in another file."""
    return any(map(asks_for_shard, module.origins(node)))


def attributes_of_shards(module: Module) -> list[ast.Attribute]:
    """Every attribute of what get_dataset_shard gives, in source order.

    The shards of a file are few and its attributes many, so this starts from the shards: from what names they may have.
    """
    found: set[ast.AST] = set()
    names: set[str] = set()
    waiting: list[ast.expr] = list(module.calls(*GET_SHARD))
    while waiting:
        holder = waiting.pop()
        outer = module.parent_of[holder]
        found.add(outer)
        if isinstance(outer, ast.Subscript) and outer.value is holder:  # of a dict or a list of shards
            waiting.append(outer)
        for name in set(_names_given(module, holder)) - names:
            names.add(name)
            waiting += module.reads(name)
    attributes = (node for node in module.of_type(ast.Attribute) if node in found) if found else ()
    return [node for node in attributes if node not in module.reference_at and is_shard(module, node.value)]


def _names_given(module: Module, value: ast.expr) -> Iterator[str]:
    """The names that may get a value: those in the targets of its assignment, by itself or in a row of several."""
    outer = module.parent_of[value]
    if isinstance(outer, (ast.Tuple, ast.List, ast.Dict, ast.ListComp, ast.DictComp)):
        outer = module.parent_of[outer]
    if isinstance(outer, BINDS):
        targets = targets_of(outer)
        yield from (part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))
