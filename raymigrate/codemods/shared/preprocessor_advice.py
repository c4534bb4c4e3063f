"""What to write for a preprocessor that is gone: the functions of its BatchMappers, called by themselves."""

import ast

from raymigrate.codemods.context import Context
from raymigrate.facts.ray_data.batch_functions import BatchFunction
from raymigrate.facts.ray_data.plain_batches import takes_an_array
from raymigrate.facts.ray_data.preprocessors import Mapper, Stage, Transformer, arguments, helper, stages
from raymigrate.facts.ray_train.results import trainers_behind
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import is_none, keyword_argument, last_name, sources
from raymigrate.knowledge.legacy import TORCH_TRAINERS, TRAINERS
from raymigrate.pins.written_for import NEWEST

STRICT_MODE_SINCE = (2, 5)
BY_OUR_NAMES = (2, 7)  # converted code has names of ray.train that came with this version
OPEN_SIZE = "batch_size=4096 does what it did before Ray 2.5, 1024 what it did since"
LONGEST = 60  # characters of a function that is quoted
# Measured on Ray 2.60: serialize() gives bytes for the classes of ray.data.preprocessors and a text for others, and
# Preprocessor.deserialize() reads the text only. cloudpickle does for all, and for lambdas in them.
KEPT_IN_FILE = (
    'another program reads it from a file, opened with "wb" and "rb": ray.cloudpickle.dump(preprocessor, file),'
    " ray.cloudpickle.load(file)"
)


def default_batch_size(context: Context) -> int:
    """The rows that BatchMapper and map_batches handed out at a time by default; today it is all of a block.

    Ray 2.4.0 data/dataset.py, map_batches: DEFAULT_BATCH_SIZE, 4096. Ray 2.5.1 and 2.6.3 data/block.py,
    _apply_strict_mode_batch_size: 1024, also for BatchMapper, whose documentation still says 4096.
    """
    return 1024 if context.from_ray.lowest >= STRICT_MODE_SINCE else 4096


def may_be_converted(context: Context) -> bool:
    """Whether an earlier run may have written the only names that tell for which Ray a script was written."""
    return context.from_ray.lowest == BY_OUR_NAMES and context.from_ray.highest == NEWEST


def gone_preprocessor(context: Context, checkpoint: ast.expr) -> list[Stage]:
    """The stages of the trainer's preprocessor that a checkpoint held, where it is gone; none if not, or unknown.

    A checkpoint that comes from elsewhere may be one of any trainer of the module.
    """
    module = context.module
    trainers: list[ast.expr] = [made.node for made in trainers_behind(module, checkpoint) if made.module is module]
    trainers = trainers or [*module.calls(*TRAINERS, *TORCH_TRAINERS)]
    given = [keyword_argument(call, "preprocessor") for call in trainers if isinstance(call, ast.Call)]
    found = [stages_of(module, node) for node in given if node is not None and not is_none(node)]
    different = {on_rows(context, parts): parts for parts in found}
    parts = next(iter(different.values())) if len(different) == 1 else []
    return parts if is_gone(parts) else []


def stages_of(module: Module, preprocessor: ast.expr) -> list[Stage]:
    """The stages of a preprocessor, which a function of the file may make; none where they cannot be followed."""
    found = sources(module, preprocessor)
    preprocessor = found[0] if isinstance(preprocessor, ast.Attribute) and len(found) == 1 else preprocessor
    made = helper(module, preprocessor)
    return (stages(module, preprocessor) if made is None else made.stages) or []


def is_gone(parts: list[Stage]) -> bool:
    """Whether a preprocessor has a BatchMapper, so that no current Ray can make it."""
    return any(isinstance(part, Mapper) for part in parts)


def over_dataset(context: Context, mapper: Mapper) -> str:
    """The call of map_batches that does what a BatchMapper did to a dataset."""
    given = arguments(mapper.call)
    constant = context.module.constant
    batch_format, batch_size = constant(given.get("batch_format")), constant(given.get("batch_size"))
    if batch_format in (None, "default"):  # what Ray 2.0 to 2.3 allowed: DataFrames
        batch_format = "pandas"
    is_default = batch_size in (None, "default") and not ("batch_size" in given and batch_size is None)
    if is_default:
        batch_size = default_batch_size(context)
    copied = is_copied(context, mapper, str(batch_format))
    written = {
        "batch_format": repr(batch_format).replace("'", '"') if isinstance(batch_format, str) else "...",
        "batch_size": "..." if batch_size is ... else str(batch_size),
    }
    written |= {"zero_copy_batch": "False"} if copied else {}
    is_open = is_default and may_be_converted(context)
    written |= {"batch_size": "..."} if is_open else {}
    listed = ", ".join(f"{name}={value}" for name, value in written.items())
    function = function_of(context, mapper)
    if batch_format == "numpy" and "fn" in given and takes_an_array(BatchFunction(context.module, given["fn"])):
        function = f"lambda batch: {_called(function)}(batch[column])"  # it got the array alone
    call = f"dataset.map_batches({function}, {listed})"
    return f"{call} ({OPEN_SIZE})" if is_open else call


def is_copied(context: Context, mapper: Mapper, batch_format: str) -> bool:
    """Whether the function of a BatchMapper needs a batch that it may change, as it got one from legacy Ray.

    One that cannot be seen may.
    """
    given = arguments(mapper.call).get("fn")
    function = BatchFunction(context.module, given) if given is not None else None
    return function is None or not function.visible or function.writes_to_arrays(batch_format)


def function_of(context: Context, mapper: Mapper) -> str:
    """The function of a BatchMapper as the script writes it; "fn" where that is long, or `Tokenize(...)`."""
    given = arguments(mapper.call).get("fn")
    spellings = [(given, "")] if given is not None else []
    spellings += [(given.func, "(...)")] if isinstance(given, ast.Call) else []
    written = [f"{context.module.source(node)}{rest}" for node, rest in spellings]
    return next((text for text in written if len(text) <= LONGEST and "\n" not in text), "fn")


def applied_to_batch(context: Context, mapper: Mapper) -> str:
    """The call of a BatchMapper's function."""
    return f"{_called(function_of(context, mapper))}(batch)"


def _called(function: str) -> str:
    """A function as it stands before its arguments."""
    return f"({function})" if function.startswith("lambda") else function


def in_its_place(context: Context, parts: list[Stage]) -> str:
    """What to call in place of a preprocessor with BatchMappers: of one, its function; of several, one by one."""
    to_dataset = on_rows(context, parts)
    to_batch = ", ".join(_to_batch(context, part) for part in parts)
    if len(parts) == 1:
        return f"call {to_dataset} in place of transform(dataset), and {to_batch} in place of transform_batch(batch)"
    return f"apply its stages one after another. For a dataset: {to_dataset}. For one batch: {to_batch}"


def on_rows(context: Context, parts: list[Stage]) -> str:
    """What to call to apply the stages of a preprocessor to a dataset, one after another."""
    return ", ".join(_to_dataset(context, part) for part in parts)


def _to_dataset(context: Context, stage: Stage) -> str:
    return over_dataset(context, stage) if isinstance(stage, Mapper) else _method(context, stage, "transform(dataset)")


def _to_batch(context: Context, stage: Stage) -> str:
    if isinstance(stage, Mapper):
        return applied_to_batch(context, stage)
    return _method(context, stage, "transform_batch(batch)")


def _method(context: Context, stage: Transformer, call: str) -> str:
    """The call of a method of a preprocessor that is still there: of the one that was fitted."""
    source = context.module.source(stage.node)
    if len(source) > LONGEST or "\n" in source:
        made = context.module.value(stage.node)
        source = f"the {last_name(made.func)}" if isinstance(made, ast.Call) else "the next one"
        return f"{call} of {source}{', fitted' if stage.fittable else ''}"
    return f"{call} of the fitted {source}" if stage.fittable else f"{call} of {source}"
