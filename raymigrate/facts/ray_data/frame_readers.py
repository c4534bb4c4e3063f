"""Where code of the user's gets DataFrames from Ray Data."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from raymigrate.facts.projects.helpers import is_in_helper
from raymigrate.facts.projects.places import functions_behind
from raymigrate.facts.ray_data.batch_functions import BatchFunction
from raymigrate.facts.ray_data.datasets import CHANGE_BLOCKS, FROM_PANDAS, MAKERS, MAPS, is_dataset, is_made_of_frames
from raymigrate.facts.ray_data.frame_uses import FrameUses, Kind
from raymigrate.facts.ray_data.preprocessor_uses import trainers_given
from raymigrate.facts.ray_data.preprocessors import BATCH_MAPPERS, arguments
from raymigrate.facts.ray_train.trainers import library_bases
from raymigrate.facts.syntax.functions import by_position, is_static
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import FunctionNode
from raymigrate.facts.values import argument, called_name, keyword_argument
from raymigrate.facts.values.keys import is_unpacked, unpacked_value

PREPROCESSORS = frozenset(
    f"ray.{place}.Preprocessor" for place in ("data.preprocessor", "data", "data.preprocessors", "ml.preprocessor")
)
PREDICTORS = frozenset(f"ray.{place}.Predictor" for place in ("train.predictor", "train", "ml.predictor"))
METHODS = {"_transform_pandas": PREPROCESSORS, "_predict_pandas": PREDICTORS}


@dataclass(frozen=True)
class FrameReader:
    """Code that gets a DataFrame.

    Args:
        place: The function that is given, or the call.
        differing: What it does with the DataFrame that may come out differently with columns of Arrow, the whole
            expression first; empty where the function is not seen.
        dataset: The Dataset that the DataFrame is made of; None where another object hands it over.
        needs_old: Whether it was surely written for an older Ray.
        several: Whether the dataset is a dict of Datasets, to each of which a trainer applies it.
    """

    place: ast.expr | ast.FunctionDef
    differing: tuple[ast.expr, ...]
    dataset: ast.expr | None = None
    needs_old: bool = False
    several: bool = False


def frame_readers(module: Module) -> Iterator[FrameReader]:
    """The code of a module that may do with DataFrames what comes out differently with columns of Arrow."""
    for call, method in module.method_calls("map_batches", "map_groups"):
        given = argument(call, 0, "fn")
        if given is not None and not is_made_of_frames(module, method.value):
            yield from _mapping(module, call, given, method.attr, _mapped(module, method))
    yield from _mappers(module)
    yield from _iterations(module)
    yield from _methods(module)


def _mapped(module: Module, method: ast.Attribute) -> ast.expr:
    """The Dataset whose batches or groups go to a function."""
    grouped = module.value(method.value) if method.attr == "map_groups" else None
    is_call = isinstance(grouped, ast.Call) and isinstance(grouped.func, ast.Attribute)
    return grouped.func.value if is_call else method.value  # type: ignore[union-attr]


def _mapping(module: Module, call: ast.Call, given: ast.expr, method: str, dataset: ast.expr) -> Iterator[FrameReader]:
    """A function that a method of a Dataset is given."""
    batch_format = _batch_format(module, call)
    if batch_format == "pandas":
        yield from _of_function(module, given, dataset)
    elif batch_format in (None, "default", ...) and method == "map_batches" and is_dataset(module, dataset):
        function = BatchFunction(module, given)
        if function.visible and function.takes_a_frame:
            needs_old = batch_format is not ...  # RM508
            yield from _of_function(module, given, dataset, needs_old=needs_old)


def _batch_format(module: Module, call: ast.Call) -> object:
    """The format that a call asks for; `...` where it cannot be seen, None where it asks for none."""
    given = keyword_argument(call, "batch_format") or unpacked_value(module, call, "batch_format")
    return ... if given is None and is_unpacked(module, call, "batch_format") is None else module.constant(given)


def _mappers(module: Module) -> Iterator[FrameReader]:
    """Functions of BatchMappers; a single one may get the very DataFrames that the Datasets are made of."""
    mappers = list(module.calls(*BATCH_MAPPERS))
    if len(mappers) == 1 and not _changes_blocks(module):
        made = {called_name(module, call) for call in module.of_type(ast.Call)}
        if {name for name in made if name.startswith(MAKERS)} == {FROM_PANDAS}:
            return
    for call in mappers:
        given = arguments(call)
        if "fn" in given and module.constant(given.get("batch_format")) != "numpy":
            mapped = [keyword_argument(trainer, "datasets") for trainer in trainers_given(module, call) or ()]
            for reader in _of_function(module, given["fn"], None):
                yield from (replace(reader, dataset=datasets, several=datasets is not None) for datasets in mapped)
                yield from () if mapped else (reader,)


def _changes_blocks(module: Module) -> bool:
    """Whether a Dataset may have other blocks than those that it was made of."""
    others = module.method_calls(*CHANGE_BLOCKS - MAPS)  # lists have a sort() too
    return any(module.method_calls(*MAPS)) or any(is_dataset(module, method.value) for _, method in others)


def _methods(module: Module) -> Iterator[FrameReader]:
    """Methods of the user's own preprocessors and predictors."""
    for function in (function for name in METHODS for function in module.functions(name)):
        home = module.parent_of[function]
        bases = METHODS[function.name]
        if not isinstance(home, ast.ClassDef) or bases.isdisjoint(library_bases(module, home)):
            continue
        if bases is PREDICTORS and not any(_makes_batch_predictor(module, read) for read in module.reads(home.name)):
            continue
        differing = _differing(module, function)
        if differing is not None:
            yield FrameReader(function, differing)


def _makes_batch_predictor(module: Module, read: ast.Name) -> bool:
    return "BatchPredictor" in called_name(module, module.taking(read))


def _of_function(
    module: Module, given: ast.expr, dataset: ast.expr | None, *, needs_old: bool = False
) -> Iterator[FrameReader]:
    seen = BatchFunction(module, given)
    functions = [(module, function) for function in functions_behind(module, given)]
    if not functions and seen.node is not None:
        functions = [(seen.module, seen.node)]
    found = [_differing(home, function, seen) for home, function in functions] or [()]
    differing = next((uses for uses in found if uses is not None), None)
    if differing is not None:
        yield FrameReader(given, differing, dataset, needs_old)


def _differing(
    module: Module, function: FunctionNode, seen: BatchFunction | None = None
) -> tuple[ast.expr, ...] | None:
    """What a function does with its batch that may come out differently.

    Args:
        module: The module.
        function: The function.
        seen: What is known of it where it is given with arguments: `partial(function, tokenizer)`.
    """
    names = [parameter.arg for parameter in by_position(function)]
    home = module.parent_of[function]
    is_method = isinstance(home, ast.ClassDef)
    if is_in_helper(module, function):
        return None  # of this tool: it hands the DataFrame on to the script's own method
    is_bound = is_method and (isinstance(function, ast.Lambda) or not is_static(function))
    batch = names[1:] if is_bound else names
    if seen is not None and function is seen.node:
        batch = [seen.parameter] if seen.parameter is not None else []
    uses = FrameUses(module, [function])
    return uses.differing(uses.of_parameter(function, batch[0], Kind.FRAME)) if batch else ()


def _iterations(module: Module) -> Iterator[FrameReader]:
    """DataFrames that code of the driver or of a worker asks for."""
    for call, method in module.method_calls("iter_batches", "to_pandas"):
        if method.attr == "to_pandas":
            start = Kind.FRAME if is_dataset(module, method.value) else None
        else:
            start = Kind.BATCHES if _batch_format(module, call) == "pandas" else None
        if start is not None and not is_made_of_frames(module, method.value):
            differing = FrameUses(module).differing([(call, start)])
            if differing is not None:
                yield FrameReader(call, differing, method.value)
