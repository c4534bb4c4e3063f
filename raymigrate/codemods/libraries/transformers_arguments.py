"""RM70x: arguments that transformers 5, accelerate 1 and datasets 4 removed.

https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md; docs/semantics/libraries.md was measured on
transformers 5.23. These rules look at Ray training scripts only, where without them no converted job starts.
"""

import ast
from collections.abc import Mapping

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.adamw import keep_in_trainers
from raymigrate.codemods.libraries.argument_changes import (
    ACCELERATOR_CHANGES,
    ADVICE,
    DATALOADER_ARGUMENTS,
    DATASET_CHANGES,
    LOAD_DATASET,
    NEW_FIRST,
    SAME_POSITIONS,
    SWITCHED_OFF,
    TRAINER_CHANGES,
    TRAINER_PARAMETERS,
    TRAINING_ARGUMENTS_CHANGES,
    TRAINING_ARGUMENTS_PARAMETERS,
    VALUES,
    Change,
    is_falsy,
)
from raymigrate.codemods.libraries.old_transformers import is_for_old_transformers
from raymigrate.codemods.libraries.tensorboard_folder import without_folder
from raymigrate.codemods.libraries.unseen_keys import is_taken, tell_unseen
from raymigrate.codemods.phases import Phase
from raymigrate.facts.indirect import calls_by_name
from raymigrate.facts.keys import Keys, keys_of
from raymigrate.facts.legacy import ACCELERATORS, HF_TRAINERS, TRAINING_ARGUMENTS
from raymigrate.facts.values import constants, written
from raymigrate.knowledge.error_texts import refused_arguments

GUIDE = "https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md"

OLD_TO_NEW = [f"{old} is {change.name} today" for old, change in TRAINING_ARGUMENTS_CHANGES.items() if change.name]
REMOVED = [name for name, change in TRAINING_ARGUMENTS_CHANGES.items() if change.name is None]

RM701 = Rule(
    "RM701",
    "an argument that was renamed",
    "transformers >= 5, accelerate >= 1 and datasets >= 4 raise a TypeError for the old name.",
    f"The new name is used, and values that changed are replaced too. Of TrainingArguments {', '.join(OLD_TO_NEW)}.",
    GUIDE,
    errors=(
        *refused_arguments(
            "*TrainingArguments",
            "evaluation_strategy",
            "no_cuda",
            "per_gpu_train_batch_size",
            "per_gpu_eval_batch_size",
            "push_to_hub_token",
            "push_to_hub_model_id",
            "xpu_backend",
            "torchdynamo",
            "warmup_ratio",
            "group_by_length",
            "include_inputs_for_metrics",
            "include_tokens_per_second",
            "adafactor",
            "dispatch_batches",
            "split_batches",
        ),
        "*TrainingArguments' object has no attribute 'evaluation_strategy'",
        "*TrainingArguments' object has no attribute 'no_cuda'",
        *refused_arguments("*Trainer", "tokenizer"),
        "*Trainer' object has no attribute 'tokenizer'",
        *refused_arguments(
            "Accelerator",
            "fp16",
            "logging_dir",
            "dispatch_batches",
            "even_batches",
            "use_seedable_sampler",
        ),
        *refused_arguments("*Config", "use_auth_token", "ignore_verifications"),
    ),
)
RM702 = Rule(
    "RM702",
    "an argument that was removed",
    "transformers >= 5 and accelerate >= 1 raise a TypeError for it.",
    "It is deleted where it had no effect on training; else see the message. TrainingArguments has lost"
    f" {', '.join(REMOVED)}.",
    GUIDE,
    errors=(
        *refused_arguments("*TrainingArguments"),
        "*TrainingArguments' object has no attribute",
        *refused_arguments("Accelerator"),
        *refused_arguments("*Config", "task"),
    ),
)
RM703 = Rule(
    "RM703",
    "arguments by position",
    "The order of the parameters changed: a value by position now reaches another parameter, and no error says so.",
    "The arguments are given by keyword, under the names that they had.",
    GUIDE,
    errors=("is not a valid SchedulerType",),
)
RM705 = Rule(
    "RM705",
    "an argument with a value that is refused now",
    "transformers >= 5 raises a ValueError for this value.",
    "The value that means the same today is used.",
    GUIDE,
    errors=(
        "adamw_hf is not a valid OptimizerNames",
        "adamw_apex_fused is not a valid OptimizerNames",
        "None is not supported, only",
        "is only available with FSDP1. Set `fsdp_config['version'] = 1` to use it",
    ),
)
WORDS = (
    *TRAINING_ARGUMENTS_CHANGES,
    "TrainingArguments",
    "Seq2SeqTrainingArguments",
    "Trainer",
    "Seq2SeqTrainer",
    "Accelerator",
    "load_dataset",
)


@codemod(*WORDS, phase=Phase.LIBRARIES)
def keyword_arguments(context: Context) -> None:
    """Renames and deletes keyword arguments of transformers, accelerate and datasets."""
    for names, changes in (
        (TRAINING_ARGUMENTS, TRAINING_ARGUMENTS_CHANGES),
        (HF_TRAINERS, TRAINER_CHANGES),
        (ACCELERATORS, ACCELERATOR_CHANGES),
        (LOAD_DATASET, DATASET_CHANGES),
    ):
        calls = list(context.module.calls(*names))
        for call in calls:
            change_positions(context, call, names)
        for call in (*calls, *calls_by_name(context.module, names)):
            _by_keyword(context, call, names, changes)


def _by_keyword(context: Context, call: ast.Call, names: frozenset[str], changes: Mapping[str, Change]) -> None:
    for keyword in call.keywords:
        name = keyword.arg or ""
        if not name:
            change_unpacked(context, call, keyword, names, changes)
        elif name in changes:
            change_argument(context, call, keyword, changes[name])
        elif name in VALUES and names is TRAINING_ARGUMENTS:
            change_value(context, call, keyword)
        elif not is_taken(context, call, name) and name not in DATALOADER_ARGUMENTS:
            context.manual(RM702, keyword, f"{name}= raises a TypeError today.", "Drop it, or write what replaces it.")


def change_unpacked(
    context: Context, of: ast.Call, keyword: ast.keyword, names: frozenset[str], changes: Mapping[str, Change]
) -> None:
    """Looks into the dict behind `TrainingArguments(**arguments)`, and says so where it cannot.

    Args:
        context: The module.
        of: The call.
        keyword: What is unpacked there.
        names: The classes of which one is called, or made something from.
        changes: What becomes of the arguments that it takes.
    """
    keys = keys_of(context.module, keyword.value)
    change_keys(context, of, keys, changes)
    if names is TRAINING_ARGUMENTS and keys.hidden and is_for_old_transformers(context):
        tell_unseen(context, of, keyword, keys, changes)


def change_keys(context: Context, of: ast.Call, keys: Keys, changes: Mapping[str, Change]) -> None:
    """Changes the keys of a dict that a call unpacks, as far as they are seen.

    Args:
        context: The module.
        of: The call.
        keys: What is known of the dict.
        changes: What becomes of the arguments that the call takes.
    """
    for call, inner in keys.keywords:
        if inner.arg in changes:
            change_argument(context, call, inner, changes[str(inner.arg)])
    read = {name for name, _ in keys.reads}
    named = {name for name, _ in keys.strings}
    for name, key in keys.strings:
        if (name in changes or not is_taken(context, of, name)) and not (keys.hidden and name in read):
            change = changes.get(name, Change())
            change_key(context, key, name, change, sure=name not in keys.read_in_text and change.name not in named)
    for name, key in [] if keys.hidden else keys.reads:  # a key that comes from elsewhere keeps its name
        if name in changes and name not in keys.read_in_text and _is_renamed(changes[name]):
            change_key(context, key, name, changes[name])


def _is_renamed(change: Change) -> bool:
    return change.name is not None and change.value is None


def change_key(context: Context, key: ast.expr, name: str, change: Change, *, sure: bool = True) -> None:
    """Changes a key of a dict that becomes keyword arguments, or tells of it.

    Args:
        context: The module.
        key: The key.
        name: What it is.
        change: What becomes of the argument.
        sure: Whether nothing else depends on the key.
    """
    if change.name is None:
        context.manual(RM702, key, f"{name}= raises a TypeError today.", "Drop the key, or write what replaces it.")
    elif not sure or not _is_renamed(change) or not isinstance(key, ast.Constant):
        message = f"{name}= {change.outcome}; {change.name}= took its place."
        context.manual(RM701, key, message, "Change the key wherever it is used.")
    elif context.converts(RM701, key, f"{name}= raises a TypeError today; now {change.name}=."):
        quote = context.module.source(key)[-1:]
        context.plan.replace(key, f"{quote}{change.name}{quote}")


def change_positions(context: Context, call: ast.Call, names: frozenset[str]) -> None:
    """Names the arguments that a call gives by position, where the parameters have other places today.

    Args:
        context: The module.
        call: The call.
        names: The classes of which one is called, or made something from.
    """
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return
    edit = context.plan.call
    if names is TRAINING_ARGUMENTS and len(call.args) > 1:
        given = TRAINING_ARGUMENTS_PARAMETERS[: len(call.args)]
        if len(given) < len(call.args):
            context.manual(RM703, call, "These arguments by position now reach other parameters of TrainingArguments.")
        elif context.converts(RM703, call, "The second parameter of TrainingArguments is another one today."):
            kept = [TRAINING_ARGUMENTS_CHANGES.get(name, Change(name)) for name in given]
            edit(call).names = [change.name or name for change, name in zip(kept, given, strict=True)]
            edit(call).remove |= {name for change, name in zip(kept, given, strict=True) if change.name is None}
    elif names is HF_TRAINERS and len(call.args) > SAME_POSITIONS:
        if context.converts(RM703, call, "The eighth parameter of Trainer is compute_loss_func today."):
            edit(call).names = list(TRAINER_PARAMETERS[: len(call.args)])


def change_argument(context: Context, call: ast.Call, keyword: ast.keyword, change: Change) -> None:
    """Changes a keyword argument, or tells of it.

    Args:
        context: The module.
        call: The call.
        keyword: The argument.
        change: What becomes of it.
    """
    name = keyword.arg
    assert name is not None
    value = written(keyword.value)
    edit = context.plan.call(call)
    given = {other.arg: other.value for other in call.keywords if other.arg}
    if change.beside is not None and change.name in given and not is_falsy(value):
        _join(context, call, keyword, change, given[change.name])
        return
    if change.unless in given and change.name not in given and change.value is not None:  # both say a part of it
        message = f"{name}= {change.outcome}; {change.name}= took its place."
        context.manual(RM701, keyword, message, f"Give {change.name}= what {name}= and {change.unless}= say.")
        return
    void = change.unless in given or change.name in given
    off = name in SWITCHED_OFF and is_falsy(value)
    switch = value is ... and change.otherwise is not None
    if change.name is None or void or off:
        if not change.only_if(value) and not (void or off):
            advice = ADVICE.get(name, "Drop it, or write what replaces it.")
            context.manual(RM702, keyword, f"{name}= {change.outcome}.", advice)
        else:
            told = without_folder(context, call) if name == "logging_dir" else ""
            if context.converts(RM702, keyword, f"{name}= {change.outcome}; deleted{told}."):
                edit.remove.add(name)
    elif not change.only_if(value) and not switch:
        context.manual(RM701, keyword, f"{name}= {change.outcome}; {change.name}= took its place.", "")
    elif context.converts(RM701, keyword, f"{name}= {change.outcome}; now {change.name}=."):
        edit.rename[name] = change.name
        if change.value is not None:
            template = f"{change.value} if $value else {change.otherwise}" if switch else change.value
            edit.set(change.name, template, value=keyword.value)


def _join(context: Context, call: ast.Call, keyword: ast.keyword, change: Change, new: ast.expr) -> None:
    """Leaves one argument of two, of the old name and of the new one, with what was in force of them."""
    assert keyword.arg is not None
    assert change.name is not None
    assert change.beside is not None
    message = f"{keyword.arg}= {change.outcome}"
    old_is_sure, new_is = written(keyword.value) is not ..., written(new)
    if change.beside == NEW_FIRST:
        template = change.beside if new_is is ... else "$old" if is_falsy(new_is) else ""
    else:
        template = change.beside.partition(" ")[0] if old_is_sure else change.beside
    if not template:
        if context.converts(RM702, keyword, f"{message}; deleted."):
            context.plan.call(call).remove.add(keyword.arg)
    elif context.converts(RM701, keyword, f"{message}; now part of {change.name}=."):
        edit = context.plan.call(call)
        edit.remove.add(keyword.arg)
        edit.set(change.name, template, old=keyword.value, new=new)


def change_value(context: Context, call: ast.Call, keyword: ast.keyword) -> None:
    """Changes a value of an argument in `VALUES` that is refused today, or tells of it."""
    assert keyword.arg is not None
    choices: Mapping[object, str] = VALUES[keyword.arg]  # type: ignore[assignment]
    for source, value in constants(context.module, keyword.value):
        if not isinstance(value, (str, type(None))) or value not in choices:
            continue
        new, message = choices[value], f"{keyword.arg}={value!r} raises a ValueError today"
        if source.node is not keyword.value:
            context.manual(RM705, keyword, f"{message}.", f"Write {new} where the value is set.")
        elif context.converts(RM705, keyword, f"{message}; now {new}{_differs(context, call, value)}."):
            context.plan.call(call).set(keyword.arg, new)


def _differs(context: Context, call: ast.Call, value: object) -> str:
    """What is to be known of the value that takes the place of one that is refused now."""
    if value != "adamw_hf":
        return ""
    if context.options.freeze_numerics and keep_in_trainers(context, call):
        return ", and the Trainer gets the old optimizer"
    return ", which takes longer first steps along gradients below 1e-6 (--freeze-numerics keeps the old optimizer)"
