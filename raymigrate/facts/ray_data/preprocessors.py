"""What a trainer's `preprocessor=` stands for: its stages, in the order in which they are applied."""

import ast
from dataclasses import dataclass

from raymigrate.facts.ray_data.own_preprocessors import is_fittable, own_preprocessor
from raymigrate.facts.syntax.definitions import Definition
from raymigrate.facts.syntax.functions import returns
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import (
    called_name,
    has_starred,
    has_unpacking,
    is_method_call,
    keyword_argument,
    named_arguments,
    sources,
)
from raymigrate.knowledge.legacy import TRANSFORMERS_TRAINERS

PREPROCESSORS = "ray.data.preprocessors"
BEFORE_RAY_2 = "ray.ml.preprocessors"
BATCH_MAPPERS = frozenset(
    f"{module}.BatchMapper"
    for module in (PREPROCESSORS, f"{PREPROCESSORS}.batch_mapper", BEFORE_RAY_2, f"{BEFORE_RAY_2}.batch_mapper")
)
CHAINS = frozenset(
    f"{module}.Chain" for module in (PREPROCESSORS, f"{PREPROCESSORS}.chain", BEFORE_RAY_2, f"{BEFORE_RAY_2}.chain")
)
BATCH_MAPPER_PARAMETERS = ("fn", "batch_format", "batch_size")
# Methods of datasets and of preprocessors that change the rows.
MAPS = ("map", "map_batches", "flat_map", "transform", "fit_transform")

# The classes that Ray 2.6.3 and Ray 2.60 both have in ray.data.preprocessors (imported from both, and compared).
FITTED = frozenset(
    [
        "Categorizer",
        "CountVectorizer",
        "LabelEncoder",
        "MaxAbsScaler",
        "MinMaxScaler",
        "MultiHotEncoder",
        "OneHotEncoder",
        "OrdinalEncoder",
        "RobustScaler",
        "SimpleImputer",
        "StandardScaler",
        "UniformKBinsDiscretizer",
    ]
)
# Those of them whose `_is_fittable` is False: they have no state.
STATELESS = frozenset(
    [
        "Concatenator",
        "CustomKBinsDiscretizer",
        "FeatureHasher",
        "HashingVectorizer",
        "Normalizer",
        "PowerTransformer",
        "Tokenizer",
        "TorchVisionPreprocessor",
    ]
)


@dataclass(frozen=True)
class Mapper:
    """A BatchMapper, which current Ray no longer has.

    Args:
        call: Its construction.
    """

    call: ast.Call


@dataclass(frozen=True)
class Transformer:
    """A preprocessor that current Ray still has.

    Args:
        node: The expression that gives it.
        fittable: Whether it has a state that is fitted.
    """

    node: ast.expr
    fittable: bool


Stage = Mapper | Transformer


def class_name(module: Module, call: ast.expr) -> str | None:
    """The class of ray.data.preprocessors that a call constructs: "StandardScaler"; None where it constructs none."""
    if not isinstance(call, ast.Call):
        return None
    qualified = called_name(module, call)
    name = qualified.rpartition(".")[2]
    return name if qualified.startswith((f"{PREPROCESSORS}.", f"{BEFORE_RAY_2}.")) else None


def stages(module: Module, node: ast.expr, above: tuple[ast.expr, ...] = ()) -> list[Stage] | None:
    """The stages of a preprocessor, in order; None where one of them cannot be followed.

    Names are followed to what is assigned to them, and nested Chains are laid flat where they hold a BatchMapper.

    Args:
        module: The module.
        node: The preprocessor.
        above: The Chains that it is part of: `prep = Chain(prep, ...)` may name itself.
    """
    value = module.value(node)
    if not isinstance(value, ast.Call) or value in above:
        return None
    own, name = own_preprocessor(module, value), class_name(module, value)
    if own is not None:
        return [Transformer(node, is_fittable(*own))]
    if name is None:
        return None
    qualified = module.qualified(value.func)
    if qualified in BATCH_MAPPERS:
        return [Mapper(value)] if "fn" in arguments(value) else None
    if qualified in CHAINS:
        if value.keywords or has_starred(value.args):
            return None
        parts = [stages(module, argument, (*above, value)) for argument in value.args]
        if not parts or None in parts:
            return None
        found = [stage for part in parts for stage in part or ()]
        if any(isinstance(stage, Mapper) for stage in found):
            return found
        return [Transformer(node, any(isinstance(stage, Transformer) and stage.fittable for stage in found))]
    if name in FITTED | STATELESS:
        return [Transformer(node, name in FITTED)]
    return None


def arguments(call: ast.Call) -> dict[str, ast.expr]:
    """The arguments of a BatchMapper by name; empty where some cannot be seen."""
    return {} if has_unpacking(call) else named_arguments(call, BATCH_MAPPER_PARAMETERS)


@dataclass(frozen=True)
class Helper:
    """A function of this module that makes a preprocessor.

    Args:
        call: Where it is called for the trainer.
        function: The function.
        value: What it returns.
        stages: The stages of that.
    """

    call: ast.Call
    function: ast.FunctionDef
    value: ast.expr
    stages: list[Stage]


def helper(module: Module, node: ast.expr) -> Helper | None:
    """The helper function that a preprocessor comes from, if its one return value can be followed."""
    call = module.value(node)
    if not isinstance(call, ast.Call):
        return None
    function = module.definition(call.func)
    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return None
    ends = returns(module, function)
    if len(ends) != 1 or ends[0].value is None:
        return None
    found = stages(module, ends[0].value)
    return None if found is None else Helper(call, function, ends[0].value, found)


@dataclass(frozen=True)
class Imported:
    """A preprocessor that another file of the project defines, in a variable or through a function.

    Args:
        definition: The variable or function.
        made: The expression that makes it.
        stages: Its stages.
    """

    definition: Definition
    made: ast.expr
    stages: list[Stage]

    @property
    def is_new(self) -> bool:
        """Whether every use makes another one, which so cannot have been fitted before."""
        module = self.definition.module
        return self.definition.function is not None and module.inside(module.value(self.made), self.definition.function)


def imported(module: Module, node: ast.expr) -> Imported | None:
    """What a preprocessor stands for that comes from another file of the project."""
    value = module.value(node)
    found = module.elsewhere(value.func if isinstance(value, ast.Call) else value)
    if found is None or isinstance(value, ast.Call) != (found.function is not None):
        return None
    return imported_as(found)


def imported_as(found: Definition) -> Imported | None:
    """The preprocessor that a definition is, or makes; None where that cannot be followed."""
    made = found.value
    if found.function is not None:
        ends = returns(found.module, found.function)
        made = ends[0].value if len(ends) == 1 and not found.function.decorator_list else None
    parts = stages(found.module, made) if made is not None else None
    return Imported(found, made, parts) if made is not None and parts else None


def gets_mapped_rows(module: Module, trainer: ast.Call) -> bool:
    """Whether a trainer of today gets datasets that were mapped before.

    That took the place of the preprocessor of a legacy trainer, and is not in the checkpoint: what the checkpoint's
    predictor applied before it has to be written by a person, in this run and in a later one.
    """
    if module.qualified(trainer.func) in TRANSFORMERS_TRAINERS:
        return False
    given = keyword_argument(trainer, "datasets")
    found = [node for source in sources(module, given) for node in ast.walk(source)] if given is not None else []
    return any(isinstance(node, ast.DictComp) or is_method_call(node, *MAPS) for node in found)
