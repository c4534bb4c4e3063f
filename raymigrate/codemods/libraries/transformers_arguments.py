"""RM70x: arguments that transformers 5, accelerate 1 and datasets 4 removed.

https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md; docs/semantics/libraries.md was measured on
transformers 5.23. These rules look at Ray training scripts only, where without them no converted job starts.
"""

import ast
from collections.abc import Mapping

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_changes import (
    ACCELERATOR_CHANGES,
    ADVICE,
    DATALOADER_ARGUMENTS,
    DATASET_CHANGES,
    LOAD_DATASET,
    SAME_POSITIONS,
    TRAINER_CHANGES,
    TRAINER_PARAMETERS,
    TRAINING_ARGUMENTS_CHANGES,
    TRAINING_ARGUMENTS_PARAMETERS,
    VALUES,
    Change,
)
from raymigrate.codemods.libraries.argument_edits import change_argument
from raymigrate.codemods.libraries.argument_rules import RM702, RM703
from raymigrate.codemods.libraries.refused_values import change_unpacked_values, change_value
from raymigrate.codemods.libraries.unseen_keys import change_keys, is_taken, refused, shown, tell_key, tell_unpacked
from raymigrate.codemods.phases import Phase
from raymigrate.facts.projects.indirect import calls_by_name, calls_of_held
from raymigrate.facts.projects.unpacked_options import carried_from_callers
from raymigrate.facts.syntax.guards import is_asked_for
from raymigrate.facts.values import has_starred
from raymigrate.facts.values.carried import Entry
from raymigrate.knowledge.legacy import ACCELERATORS, HF_TRAINERS, TRAINING_ARGUMENTS

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
        held = list(calls_of_held(context.module, names))
        sure = [*calls, *calls_by_name(context.module, names), *(call for call, is_sure in held if is_sure)]
        for call in sure:
            _by_keyword(context, call, names, changes)
        for call in sure:  # when what can be changed is: such a key is not told of
            for keyword in call.keywords:
                if keyword.arg is None:
                    tell_unpacked(context, call, keyword, names, changes)
        for call in (call for call, is_sure in held if not is_sure):
            _tell_perhaps(context, call, changes)


def _by_keyword(context: Context, call: ast.Call, names: frozenset[str], changes: Mapping[str, Change]) -> None:
    for keyword in call.keywords:
        name = keyword.arg or ""
        if not name:
            change_keys(context, call, keyword, changes)
            if names is TRAINING_ARGUMENTS:
                change_unpacked_values(context, call, keyword)
        elif is_asked_for(context.module, keyword, name):
            continue  # for other versions
        elif name in changes:
            change_argument(context, call, keyword, changes[name])
        elif name in VALUES and names is TRAINING_ARGUMENTS:
            change_value(context, call, keyword)
        elif not is_taken(context, call, name) and name not in DATALOADER_ARGUMENTS:
            advice = ADVICE.get(name, "Drop it, or write what replaces it.")
            context.manual(RM702, keyword, f"{name}= raises a TypeError today.", advice)


def _tell_perhaps(context: Context, call: ast.Call, changes: Mapping[str, Change]) -> None:
    """Tells of what one of the classes refuses that a variable may hold: `cls(**arguments)`."""
    for keyword in call.keywords:
        if keyword.arg is None:
            found = carried_from_callers(context.module, keyword.value).entries
        else:
            found = (Entry(context.module, keyword.arg, keyword, keyword.value),)
        for entry in refused(context, call, found, changes):
            what = shown(context.module, call, keyword)
            tell_key(context, entry, keyword.value, changes.get(entry.name, Change()), what)


def change_positions(context: Context, call: ast.Call, names: frozenset[str]) -> None:
    """Names the arguments that a call gives by position, where the parameters have other places today.

    Args:
        context: The module.
        call: The call.
        names: The classes of which one is called, or made something from.
    """
    if has_starred(call.args):
        return
    edit = context.plan.call
    if names is TRAINING_ARGUMENTS and len(call.args) > 1:
        given = TRAINING_ARGUMENTS_PARAMETERS[: len(call.args)]
        if len(given) < len(call.args):
            context.manual(RM703, call, "These arguments by position now reach other parameters of TrainingArguments.")
        elif context.converts(RM703, call, "TrainingArguments has another second parameter today."):
            kept = [TRAINING_ARGUMENTS_CHANGES.get(name, Change(name)) for name in given]
            edit(call).names = [change.name or name for change, name in zip(kept, given, strict=True)]
            edit(call).remove |= {name for change, name in zip(kept, given, strict=True) if change.name is None}
    elif names is HF_TRAINERS and len(call.args) > SAME_POSITIONS:
        if context.converts(RM703, call, "The eighth parameter of Trainer is compute_loss_func today."):
            edit(call).names = list(TRAINER_PARAMETERS[: len(call.args)])
