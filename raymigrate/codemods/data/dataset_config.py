"""RM504: the dict of DatasetConfig, as which `dataset_config=` was given until Ray 2.7.

What each argument did: Ray 2.6.3, air/config.py, `DatasetConfig`, and train/_internal/dataset_spec.py.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.data.own_data_config import DATASET_CONFIGS, kept_order
from raymigrate.codemods.data.preprocessors import Choices
from raymigrate.codemods.shared.definitions import drop_definition, is_only_for
from raymigrate.edits.plan import Code
from raymigrate.facts.ray_train.trainers import TrainerCall, trainers_with_function
from raymigrate.facts.syntax.literals import string_literal
from raymigrate.facts.values import called_name, has_starred, is_none, keyword_argument, names_of, written
from raymigrate.knowledge.legacy import TRAINERS, TRANSFORMERS_TRAINERS

RM504 = Rule(
    "RM504",
    "a dict of DatasetConfig",
    "ray.air.config has no DatasetConfig today (ImportError), and TorchTrainer takes no dict as dataset_config.",
    "split= becomes DataConfig(datasets_to_split=[...]); shuffling is done on the dataset itself.",
    "https://docs.ray.io/en/latest/train/user-guides/data-loading-preprocessing.html",
)
NAMES = frozenset(DATASET_CONFIGS)
PARAMETERS = (
    "fit",
    "split",
    "required",
    "transform",
    "max_object_store_memory_fraction",
    "global_shuffle",
    "randomize_block_order",
    "per_epoch_preprocessor",
    "use_stream_api",
    "stream_window_size",
)
WITHOUT_EFFECT = {"max_object_store_memory_fraction": (None, -1), "per_epoch_preprocessor": (None,)} | dict.fromkeys(
    ("use_stream_api", "stream_window_size"), (None, False)
)
WILDCARD = "*"
NOT_UNDERSTOOD = (
    "DatasetConfig is gone from current Ray ({error}), and this one was not understood.",
    "Name the datasets to split in DataConfig(datasets_to_split=[...]); shuffle with ds.random_shuffle(); limit"
    " memory with DataConfig(execution_options=...); for per_epoch_preprocessor use ds.map_batches without"
    " materialize().",
)
BESIDE = "DatasetConfig is gone from current Ray ({error}), and not all that its trainer gets with it was understood."
WAITS = (
    "DatasetConfig is gone from current Ray ({error}). This one stays as long as its trainer does.",
    "The run that converts the trainer also makes a DataConfig of this.",
)


@dataclass
class DatasetChoices:
    """What a dict of DatasetConfig asks for.

    Args:
        calls: The constructions of DatasetConfig.
        entries: What the dict holds: these, or names of them.
        options: The literal arguments by dataset; "*" stands for all others.
    """

    calls: list[ast.Call] = field(default_factory=list)
    entries: list[ast.expr] = field(default_factory=list)
    options: dict[str, dict[str, object]] = field(default_factory=dict)

    def get(self, name: str, option: str, default: object = None) -> object:
        """An option of a dataset: its own, or that of "*"; "train" has defaults that "*" does not change."""
        own = self.options.get(name, {}).get(option)
        if own is None and name != "train":
            own = self.options.get(WILDCARD, {}).get(option)
        return default if own is None else own

    @property
    def shuffle(self) -> bool:
        """Whether any dataset is to be shuffled."""
        options = [option for given in self.options.values() for option in given.items()]
        return ("global_shuffle", True) in options or ("randomize_block_order", True) in options

    def split(self, names: list[str]) -> list[str]:
        """The datasets that are split: "train" by default."""
        return [name for name in names if self.get(name, "split", name == "train")]


def dataset_choices(context: Context, given: ast.expr | None) -> DatasetChoices | None:
    """Reads the `dataset_config=` of a trainer; None where it is not a dict of DatasetConfig that can be seen whole."""
    pairs = context.module.entries(given) if given is not None else None
    if pairs is None:
        return None
    found = DatasetChoices()
    for key, entry in pairs.items():
        made = context.module.value(entry)
        if not isinstance(made, ast.Call) or context.module.qualified(made.func) not in NAMES:
            return None
        options = _options(made)
        if options is None:
            return None
        found.calls.append(made)
        found.entries.append(entry)
        found.options[key] = options
    return found if pairs else None


def transforms_nothing(context: Context, call: ast.Call) -> bool:
    """Whether the `dataset_config=` of a trainer says of each of its datasets that it is not transformed."""
    datasets = keyword_argument(call, "datasets")
    choices = dataset_choices(context, keyword_argument(call, "dataset_config"))
    names = context.module.entries(datasets) if datasets is not None else None
    if choices is None or not names:
        return False
    return all(choices.get(name, "transform") is False for name in names)


def untransformed(context: Context, call: ast.Call) -> list[str] | None:
    """The datasets of a trainer that its preprocessor leaves as they are; "*" for all that have no DatasetConfig.

    Args:
        context: The module.
        call: The trainer call.

    Returns:
        None where it cannot be seen which they are.
    """
    given = keyword_argument(call, "dataset_config")
    if given is None or is_none(given):
        return []
    if called_name(context.module, context.module.value(given)).endswith(".DataConfig"):
        return []
    choices = dataset_choices(context, given)
    if choices is not None:
        return [name for name, options in choices.options.items() if options.get("transform") is False]
    entries = [context.module.value(entry) for entry in (context.module.entries(given) or {}).values()]
    says_nothing = [
        isinstance(entry, ast.Call)
        and context.module.qualified(entry.func) in NAMES
        and len(entry.args) <= PARAMETERS.index("transform")
        and not has_starred(entry.args)
        and not any(keyword.arg in (None, "transform") for keyword in entry.keywords)
        for entry in entries
    ]
    return [] if says_nothing and all(says_nothing) else None


def _options(made: ast.Call) -> dict[str, object] | None:
    """The arguments of a DatasetConfig; None where one has no literal value or no counterpart today."""
    given: list[tuple[str | None, ast.expr]] = list(zip(PARAMETERS, made.args, strict=False))
    given += [(keyword.arg, keyword.value) for keyword in made.keywords]
    options: dict[str, object] = {}
    for name, node in given:
        value = written(node)
        if name is None or value == ... or value not in WITHOUT_EFFECT.get(name, (value,)):
            return None
        options[name] = value
    return options


def convert_dataset_config(
    context: Context, call: TrainerCall, *, in_order: bool
) -> tuple[Choices, DatasetChoices | None]:
    """Converts the DatasetConfig dict of a trainer call.

    Args:
        context: The module.
        call: The trainer call.
        in_order: Whether the evaluation rows come in one order, or no matter in which.

    Returns:
        What it says of the preprocessor, and what else it asks for; None where there is no such dict.
    """
    choices = dataset_choices(context, call.arguments.get("dataset_config"))
    split = _split(context, call, choices) if choices is not None else None
    if choices is None or split is None:
        return Choices(), None  # reported below
    given = call.arguments["dataset_config"]
    if not context.converts(RM504, given, "TorchTrainer takes no dict of DatasetConfig; now a DataConfig."):
        return Choices(), None
    if _is_transformers(context, call):
        split = ["train"]  # the Trainer itself splits the evaluation rows, so that each is evaluated once
    near = context.module.import_of(choices.calls[0].func)
    context.plan.need_import("ray.train", "DataConfig", near=near)
    given_to_it = f"datasets_to_split=[{', '.join(map(string_literal, split))}]"
    if not in_order:
        given_to_it += kept_order(context, call, near)
    context.plan.call(call.node).set("dataset_config", f"DataConfig({given_to_it})")
    _remove(context, given, choices)
    named = _named(call, choices)
    fit = next((name for name in named if name != "train" and choices.get(name, "fit")), "train")
    untransformed = [name for name in named if choices.get(name, "transform") is False]
    return Choices(fit, untransformed), choices


def _named(call: TrainerCall, choices: DatasetChoices) -> list[str]:
    """The datasets of a trainer; those that its DatasetConfigs name, and "train", where they cannot be seen."""
    if call.datasets.keys is not None:
        return list(call.datasets.keys)
    return list(dict.fromkeys([*(name for name in choices.options if name != WILDCARD), "train"]))


def _split(context: Context, call: TrainerCall, choices: DatasetChoices) -> list[str] | None:
    """The datasets that a trainer splits; None where its DatasetConfigs cannot become a DataConfig."""
    others = choices.options.get(WILDCARD, {})
    of_others = choices.shuffle or others.get("split") or others.get("transform") is False
    unseen = call.datasets.keys is None and of_others
    split = choices.split(_named(call, choices))
    lacks_train = _is_transformers(context, call) and "train" not in split
    return None if unseen or lacks_train or call.datasets.node is None else split


def _is_transformers(context: Context, call: TrainerCall) -> bool:
    return context.module.qualified(call.node.func) in TRANSFORMERS_TRAINERS


def shuffles(
    choices: DatasetChoices, source: str, target: str, names: list[str], listed: str | None = None
) -> tuple[list[Code], list[Code]]:
    """Lines that shuffle datasets: those that stand before preprocessing, and those after it.

    Legacy Ray changed the order of blocks once, before preprocessing, and shuffled rows anew in every epoch.

    Args:
        choices: What is asked for.
        source: Name of the dict of datasets before preprocessing.
        target: Its name after that.
        names: The datasets.
        listed: The one whose rows each worker lists for itself: all in one order.
    """
    before, after = [], []
    for name in names:
        old, new = f"{source}[{string_literal(name)}]", f"{target}[{string_literal(name)}]"
        if choices.get(name, "global_shuffle") and name == listed:
            after.append(Code(f"{new} = {new}.random_shuffle().materialize()  # in one order for all workers"))
        elif choices.get(name, "global_shuffle"):
            after.append(Code(f"{new} = {new}.random_shuffle()  # anew in every epoch"))
        elif choices.get(name, "randomize_block_order"):
            before.append(Code(f"{old} = {old}.randomize_block_order().materialize()"))
    return before, after


def _remove(context: Context, given: ast.expr, choices: DatasetChoices) -> None:
    """Counts the classes as gone, and takes away the names that no trainer is left to read."""
    module = context.module
    if not is_only_for(context, given):
        return
    drop_definition(context, given)
    for entry in choices.entries:
        names = names_of(module, entry)
        if all(drop_definition(context, name) for name in names):
            made = module.value(entry)
            reference = module.reference_at.get(made.func) if isinstance(made, ast.Call) else None
            if reference is not None:
                context.handle(reference, gone=True)


@codemod("DatasetConfig")
def report_dataset_config(context: Context) -> None:
    """Reports every DatasetConfig that is left."""
    waiting = set(_of_trainers_that_stay(context))
    for reference in context.references(*NAMES):
        message, advice = WAITS if context.module.parent_of[reference.node] in waiting else NOT_UNDERSTOOD
        error = "AttributeError" if isinstance(reference.node, ast.Attribute) else "ImportError"
        made = context.module.calling(reference.node)
        if message is NOT_UNDERSTOOD[0] and made is not None and _options(made) is not None:
            message = BESIDE
        context.leave(RM504, reference, message.format(error=error), advice)


def _of_trainers_that_stay(context: Context) -> Iterator[ast.Call]:
    """The DatasetConfigs that are understood, of trainers that this run does not convert."""
    for call in trainers_with_function(context.module):
        choices = dataset_choices(context, call.arguments.get("dataset_config"))
        stays = context.module.qualified(call.node.func) in TRAINERS and context.plan.calls.get(call.node) is None
        if choices is not None and stays and _split(context, call, choices) is not None:
            yield from choices.calls
