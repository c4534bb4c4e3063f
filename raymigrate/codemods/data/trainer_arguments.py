"""The arguments that both legacy trainers share: datasets, preprocessor, configuration."""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context, Prepared
from raymigrate.codemods.data.dataset_config import convert_dataset_config, shuffles, transforms_nothing, untransformed
from raymigrate.codemods.data.own_data_config import has_data_config, kept_order, list_evaluation_rows
from raymigrate.codemods.data.preprocessors import RM502, preprocessing, transformed
from raymigrate.codemods.data.split_datasets import SPLIT_ALL_SINCE, leaves_split_open, split_train_only
from raymigrate.codemods.shared.handed_keys import unpacked
from raymigrate.codemods.shared.preprocessor_advice import KEPT_IN_FILE, is_gone, stages_of
from raymigrate.codemods.shared.train_function import TrainFunction
from raymigrate.edits.plan import Code, Part
from raymigrate.facts.ray_data.datasets import IN_MEMORY, is_mapped
from raymigrate.facts.ray_data.preprocessors import class_name
from raymigrate.facts.ray_train.trainers import TrainerCall
from raymigrate.facts.syntax.calls import calls_in
from raymigrate.facts.syntax.literals import string_literal
from raymigrate.facts.values import is_none
from raymigrate.facts.values.carried import carried
from raymigrate.knowledge.legacy import TRAINING_ARGUMENTS, TRANSFORMERS_TRAINERS

RM107 = Rule(
    "RM107",
    "datasets that every worker has to see whole, or whose rows have to be counted",
    "TorchTrainer splits every dataset among the workers, so each would evaluate a part only; and a shard has no"
    " length, so the Trainer cannot tell how many steps an epoch has.",
    'Only "train" is split; the rows are counted once on the driver and handed to the workers.',
    "https://docs.ray.io/en/latest/train/user-guides/data-loading-preprocessing.html",
    errors=("train_dataset does not implement __len__",),
)
RM109 = Rule(
    "RM109",
    "datasets that the init function does not read",
    "The init function loads its own data and ignores the datasets given to the trainer.",
    "The argument is dropped: the workers need no Ray Data.",
    "https://docs.ray.io/en/latest/train/user-guides/data-loading-preprocessing.html",
)
STREAMED_SINCE = (2, 6)
LONGEST_INLINE = 75  # of a dict that is looped over where it stands
DROPPED = "No dataset was transformed with this preprocessor, it was only kept in the checkpoints; dropped."
NOTE = f"What read the preprocessor from a checkpoint can take it itself; {KEPT_IN_FILE}."


def convert_trainer_arguments(context: Context, call: TrainerCall, function: TrainFunction) -> None:
    """Converts `datasets`, `preprocessor` and the configuration of a TransformersTrainer call."""
    if function.handed and not (function.uses_ray_data and function.counts_rows):
        _hand_over(context, function, function.handed)
    if call.datasets.node is None:
        return
    edit = context.plan.call(call.node)
    if not function.uses_ray_data:
        if context.converts(RM109, call.datasets.node, "The init function never reads these datasets; dropped."):
            edit.remove |= {"datasets", "preprocessor"}
        return
    mapped = "preprocessor" in call.arguments
    once = function.counts_rows and not mapped and _was_mapped_once(context, function)
    in_order = mapped or once or _in_memory(context, call)
    datasets = prepare_datasets(context, call, counted=function.counts_rows, once=once, in_order=in_order)
    # Who applies a preprocessor that stays may do so lazily, and then the rows come in any order.
    if mapped and "preprocessor" not in edit.remove:
        if in_order and "dataset_config" in edit.values:  # which a dict became, with no need to keep an order
            edit.set("dataset_config", f'DataConfig(datasets_to_split=["train"]{_kept_order(context, call)})')
        in_order = False
    whole = function.splits_train_only and call.datasets.may_have("evaluation")
    if whole and has_data_config(context, call):
        whole = list_evaluation_rows(context, call, RM107, in_order=in_order)
    if function.counts_rows:
        evaluation = ", and each gets all evaluation rows" if whole else ""
        counted = "Workers cannot tell how many training rows there are; now they are given the number"
        kept = "; to count them and for each epoch they would be mapped anew, now once" if once else ""
        context.converts(RM107, call.datasets.node, f"{counted}{evaluation}{kept}.")
        _hand_over(context, function, {**_counts(function, datasets), **function.handed})
    # Nobody reads another dataset, but a second run that knows of Ray 2.6 would keep it whole.
    is_read = call.datasets.may_have("evaluation") or context.from_ray.surely_before(SPLIT_ALL_SINCE)
    if function.splits_train_only and is_read and leaves_split_open(context, call):
        options = ""
        if not in_order and not has_data_config(context, call):
            # Each worker reads the evaluation rows for itself, so they have to come in the same order.
            options = _kept_order(context, call)
        split_train_only(context, call, options)


def _kept_order(context: Context, call: TrainerCall) -> str:
    return kept_order(context, call, context.module.import_of(call.node.func))


def _was_mapped_once(context: Context, function: TrainFunction) -> bool:
    """Whether the script maps the training data, and legacy Ray did so once, before training.

    Up to 2.5 it did (2.4.0 train/_internal/dataset_spec.py, `split`), and only so had they a length: later one had to
    say materialize() for that, or max_steps=.
    """
    train = (function.call.datasets.keys or {}).get("train")
    if train is None or not is_mapped(function.call.module, train):
        return False
    if context.from_ray.surely_before(STREAMED_SINCE):
        return True
    module, body = function.body_module, function.body
    made = calls_in(module, body, *TRAINING_ARGUMENTS)
    has_length = bool(made) and not any(
        keyword.arg in ("max_steps", None) for call in made for keyword in call.keywords
    )
    if not has_length:
        note = (
            "count() maps the training data for their number, each epoch maps them again: .materialize() does it once,"
            " and where the functions draw random numbers, each epoch gets the same."
        )
        context.note(RM107, train, note)
    return has_length


def _in_memory(context: Context, call: TrainerCall) -> bool:
    """Whether the evaluation rows are in memory already, and so always come in the same order."""
    value: ast.expr | None = (call.datasets.keys or {}).get("evaluation")
    value = context.module.value(value) if value is not None else None
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    return value.func.attr == "materialize" or context.module.qualified(value.func) in IN_MEMORY


def prepare_datasets(
    context: Context, call: TrainerCall, *, counted: bool = False, once: bool = False, in_order: bool = True
) -> str | None:
    """Gives the datasets a name where they need one, and applies the preprocessor and the DatasetConfig.

    Args:
        context: The module.
        call: The trainer call.
        counted: Whether the caller refers to the datasets a second time.
        once: Whether their rows are to be made once, before training.
        in_order: Whether the evaluation rows come in one order, or no matter in which.

    Returns:
        The name that holds them, or None where their expressions can stand twice.
    """
    node = call.datasets.node
    assert node is not None
    edit = context.plan.call(call.node)
    choices, config = convert_dataset_config(context, call, in_order=in_order)
    is_dropped = config is not None and _drop_without_use(context, call)
    is_unclear = config is None and untransformed(context, call.node) != []
    applied = None if is_dropped or is_unclear else preprocessing(context, call)
    known = _same_datasets(call) if applied and config is None else None
    if applied and known in context.prepared:
        edit.remove.add("preprocessor")
        applied.finish()
        edit.set("datasets", context.prepared[known])
        return context.prepared[known]
    before: list[Code] = []
    parts: dict[str, Part] = {}
    is_shuffled = config is not None and config.shuffle
    if call.datasets.may_be_none and (applied or once or is_shuffled or counted):  # which Ray 2.5 to 2.8 allowed
        source = name = context.fresh("datasets", "ray_datasets", "trainer_datasets")
        before.append(Code(f"{name} = $datasets or {{}}", {"datasets": _without_none(node)}))
    elif not isinstance(node, ast.Name):
        if not applied and not once and not is_shuffled and (not counted or _can_stand_twice(call)):
            return None
        source = name = context.fresh("datasets", "ray_datasets", "trainer_datasets")
        is_short = call.module.end(node)[0] == node.lineno and len(call.module.source(node)) <= LONGEST_INLINE
        is_read_once = once or (applied is not None and applied.reads_source_once)
        if is_read_once and is_short and not is_shuffled:
            source, parts = "$datasets", {"datasets": node}
        else:
            before.append(Code(f"{name} = $datasets", {"datasets": node}))
    else:
        source = name = node.id
        if applied or once:
            name = context.fresh("datasets", "ray_datasets", "trainer_datasets")
    listed = "evaluation" if context.module.qualified(call.node.func) in TRANSFORMERS_TRAINERS else None
    early, late = shuffles(config, source, name, list(call.datasets.keys or ()), listed) if config else ([], [])
    before += early
    if applied:
        first, *others = [Code(code.template, {**code.parts, **parts}) for code in applied.codes(source, name, choices)]
        edit.remove.add("preprocessor")
        before += [Code(applied.finish() + first.template, first.parts), *others]
    elif once:
        each = _each_materialized(call, name) if parts and not choices.untransformed else None
        before.append(each or transformed(source, name, "dataset.materialize()", choices, parts))
    before += late
    if before:
        context.plan.statement(call.statement).before.extend(before)
        edit.set("datasets", name)
    if known is not None:
        context.prepared[known] = name
    return name


def _each_materialized(call: TrainerCall, name: str) -> Code | None:
    """A dict that names the datasets one by one, with each materialized: `{"train": train_ds.materialize()}`."""
    written, keys = call.datasets.node, call.datasets.keys
    if not isinstance(written, ast.Dict) or keys is None or len(keys) != len(written.values):
        return None
    entries = [f"{string_literal(key)}: $part_{n}.materialize()" for n, key in enumerate(keys)]
    return Code(f"{name} = {{{', '.join(entries)}}}", {f"part_{n}": value for n, value in enumerate(keys.values())})


def _without_none(node: ast.expr) -> ast.expr:
    """`datasets` of `datasets or None`."""
    is_pair = isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) and len(node.values) == 2
    return node.values[0] if is_pair and is_none(node.values[1]) else node  # type: ignore[attr-defined]


def _same_datasets(call: TrainerCall) -> Prepared | None:
    """What tells that trainers of one block train on the same data; None where it may be other data each time."""
    module, datasets = call.module, call.arguments["datasets"]
    given = call.arguments["preprocessor"]
    names = [n for argument in (datasets, given) for n in ast.walk(argument) if isinstance(n, ast.Name)]
    bound = tuple(module.definition(name) for name in names)
    plain = isinstance(datasets, ast.Name) or _can_stand_twice(call)
    if not plain or not isinstance(given, ast.Name) or None in bound:
        return None
    return module.parent_of[call.statement], ast.dump(datasets), bound


def _can_stand_twice(call: TrainerCall) -> bool:
    """Whether the datasets are named one by one: `{"train": train_ds, "evaluation": splits["test"]}`."""

    def is_plain(node: ast.expr) -> bool:
        if isinstance(node, ast.Subscript):
            return isinstance(node.slice, ast.Constant) and is_plain(node.value)
        return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and is_plain(node.value))

    return call.datasets.keys is not None and all(is_plain(value) for value in call.datasets.keys.values())


def _counts(function: TrainFunction, name: str | None) -> dict[str, Code]:
    """What tells the workers how many training rows there are, since they cannot count a shard; by its keys."""
    call, keys = function.call, function.call.datasets.keys
    entries: dict[str, Code] = {}
    if call.datasets.may_have("train"):
        may_lack = f' if "train" in {name} else None' if call.datasets.may_be_none else ""
        entries[function.rows_key] = Code(f'{name}["train"].count(){may_lack}')
        if name is None and keys is not None:
            entries[function.rows_key] = Code("$train.count()", {"train": keys["train"]})
    if keys is None:
        entries[function.evaluation_key] = Code(f'"evaluation" in {name}')
    return entries


def _hand_over(context: Context, function: TrainFunction, entries: dict[str, Code]) -> None:
    """Adds entries to the configuration of the workers.

    Args:
        context: The module.
        function: The training function, which takes them out again.
        entries: Their values, by their keys.
    """
    call = function.call
    config = call.arguments.get("trainer_init_config")
    edit = context.plan.call(call.node)
    if config is not None and _may_have_any_key(function, config):
        listed = " and ".join(f'"{key}"' for key in entries)
        context.note(RM107, config, f"This configuration gets {listed}: it must have no entry of its own by that name.")
    if isinstance(config, ast.Dict):
        for key, value in entries.items():
            context.plan.dict_entry(config, key, value.template, **value.parts)
        return
    if isinstance(config, ast.Call) and not config.args and ast.unparse(config.func) == "dict":
        for key, value in entries.items():
            context.plan.call(config).set(key, value.template, **value.parts)
        return
    source = ", ".join(f'"{key}": {value.template}' for key, value in entries.items())
    parts = {name: part for value in entries.values() for name, part in value.parts.items()}
    if config is None or is_none(config):
        edit.set("train_loop_config", f"{{{source}}}", **parts)
    else:
        edit.set("train_loop_config", f"{{{unpacked(context.module, config)}, {source}}}", config=config, **parts)


def _may_have_any_key(function: TrainFunction, config: ast.expr) -> bool:
    """Whether neither a configuration nor what the init function reads of it can be seen."""
    module = function.context.module
    return not carried(module, config).whole and module.constant(config) is not None and function.passes_config_on


def _drop_without_use(context: Context, call: TrainerCall) -> bool:
    """Takes away a preprocessor that transformed no dataset; returns whether it did.

    Legacy Ray put it into the checkpoints, and did nothing else with it (Ray 2.6.3, train/_internal/dataset_spec.py,
    `preprocess_datasets`). The run that takes the DatasetConfigs away has to take it too: a later one could not tell.
    """
    given = call.arguments.get("preprocessor")
    if given is None or is_none(given) or not transforms_nothing(context, call.node):
        return False
    if is_gone(stages_of(context.module, given)) or not context.converts(RM502, given, DROPPED):
        return False
    context.note(RM502, given, NOTE)
    context.plan.call(call.node).remove.add("preprocessor")
    if not isinstance(given, (ast.Name, ast.Attribute)) and class_name(context.module, given) is None:
        # It may do more than make one: `scaler.fit(dataset)`.
        context.plan.statement(call.statement).before.append(Code("$given", {"given": given}))
    return True
